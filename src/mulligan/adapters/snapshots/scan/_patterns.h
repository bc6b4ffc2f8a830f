/* Patterns of paths as in .gitignore: which names a walk leaves out. path_patterns.py has the same in Python.

   The comparison is git's `wildmatch`, on bytes. What a pattern does not find with one star it gives up as soon as
   no more stars can help, so that no pattern takes long. */

#include <ctype.h>
#include <string.h>

#define BRINGS_BACK 1  /* the pattern began with `!` */
#define FOLDERS_ONLY 2 /* it ended with a slash */
#define ANYWHERE 4     /* it has no other slash: it is about names, in any folder */

typedef struct {
    const unsigned char *text;
    size_t length;
    size_t plain; /* so many bytes at its beginning mean themselves */
    int flags;
} Pattern;

enum { NO_MATCH, MATCH, NEVER, NOT_IN_THIS_FOLDER };

static int is_in_class(const unsigned char *name, size_t length, unsigned char byte, int *known)
{
    static const struct {
        const char *name;
        int (*test)(int);
    } classes[] = {
        {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
        {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
        {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
    };
    for (size_t at = 0; at < sizeof classes / sizeof *classes; at++) {
        if (strlen(classes[at].name) == length && memcmp(classes[at].name, name, length) == 0) {
            *known = 1;
            return byte < 128 && classes[at].test(byte) != 0; /* ASCII, whatever the locale is */
        }
    }
    *known = 0;
    return 0;
}

/* Match a byte with a set in brackets, which begins after `*from`; `*from` moves to its end. */
static int match_set(const unsigned char **from, unsigned char byte)
{
    const unsigned char *p = *from + 1;
    unsigned char previous = 0;
    int matched = 0, negated = *p == '!' || *p == '^';
    if (negated)
        p++;
    do {
        unsigned char current = *p;
        if (current == '\0')
            return NEVER;
        if (current == '\\') {
            current = *++p;
            if (current == '\0')
                return NEVER;
            matched |= current == byte;
        } else if (current == '-' && previous && p[1] != '\0' && p[1] != ']') {
            if (*++p == '\\' && *++p == '\0')
                return NEVER;
            matched |= previous <= byte && byte <= *p;
            current = 0;
        } else if (current == '[' && p[1] == ':') {
            const unsigned char *end = (const unsigned char *)strchr((const char *)p + 2, ']');
            if (end == NULL)
                return NEVER;
            if (end - p < 3 || end[-1] != ':') {
                matched |= byte == '['; /* not the name of a class: a bracket as such */
            } else {
                int known;
                matched |= is_in_class(p + 2, (size_t)(end - p) - 3, byte, &known);
                if (!known)
                    return NEVER;
                p = end;
                current = 0;
            }
        } else {
            matched |= current == byte;
        }
        previous = current;
    } while (*++p != ']');
    *from = p;
    return matched != negated;
}

/* Match a text with a pattern, of which `start` is the beginning. Without `across` only stars that are a whole part
   of a path match a slash. */
static int match(const unsigned char *start, const unsigned char *p, const unsigned char *text, int across)
{
    for (; *p != '\0'; p++, text++) {
        if (*text == '\0' && *p != '*')
            return NEVER;
        switch (*p) {
        case '\\':
            if (*++p == '\0')
                return NEVER;
            /* fall through */
        default:
            if (*text != *p)
                return NO_MATCH;
            break;
        case '?':
            if (*text == '/' && !across)
                return NO_MATCH;
            break;
        case '[': {
            int matched = match_set(&p, *text);
            if (matched != MATCH || (*text == '/' && !across))
                return matched == NEVER ? NEVER : NO_MATCH;
            break;
        }
        case '*': {
            const unsigned char *stars = p;
            int over_slashes = across;
            while (*++p == '*')
                ;
            if (!across && p - stars > 1 && (stars == start || stars[-1] == '/') &&
                (*p == '\0' || *p == '/' || (*p == '\\' && p[1] == '/'))) {
                over_slashes = 1;
                if (*p == '/' && match(start, p + 1, text, across) == MATCH)
                    return MATCH; /* the stars match nothing, not even a slash */
            }
            for (;; text++) {
                int found = match(start, p, text, across);
                if (found == MATCH || found == NEVER)
                    return found;
                if (found == NOT_IN_THIS_FOLDER && !over_slashes)
                    return found;
                if (*text == '\0')
                    return NEVER;
                if (*text == '/' && !over_slashes)
                    return NOT_IN_THIS_FOLDER;
            }
        }
        }
    }
    return *text == '\0' ? MATCH : NO_MATCH;
}

/* Return whether a pattern is about a path, whose last part is the name. */
static int fits(const Pattern *pattern, const unsigned char *path, const unsigned char *name)
{
    const unsigned char *subject = pattern->flags & ANYWHERE ? name : path;
    if (pattern->plain == pattern->length)
        return strcmp((const char *)subject, (const char *)pattern->text) == 0;
    if (pattern->flags & ANYWHERE)
        return match(pattern->text, pattern->text, subject, 1) == MATCH;
    const unsigned char *rest = pattern->text + pattern->plain;
    return strncmp((const char *)subject, (const char *)pattern->text, pattern->plain) == 0 &&
           match(rest, rest, subject + pattern->plain, 0) == MATCH;
}
