// A process around the git service of @google/gemini-cli-core; asked in lines of JSON.
import { createInterface } from 'node:readline';

const [folder, root] = process.argv.slice(2);
const { GitService } = await import(`${folder}/dist/src/services/gitService.js`);
const { Storage } = await import(`${folder}/dist/src/config/storage.js`);
const service = new GitService(root, new Storage(root));

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const started = performance.now();
  try {
    let name = request.name;
    if (request.verb === 'start') {
      await service.initialize();
    } else if (request.verb === 'snapshot') {
      name = await service.createFileSnapshot('checkpoint');
    } else {
      await service.restoreProjectFromSnapshot(name);
    }
    const seconds = (performance.now() - started) / 1000;
    console.log(JSON.stringify({ seconds, name }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
