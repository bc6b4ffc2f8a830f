"""Operations of more than one method of a project: run a command without a file, save a report, trust tools."""
