"""Why a file of tensors was refused: a code with its values for those who word it, and one plain sentence."""

from __future__ import annotations

_SENTENCES = {
    "size": "{file}: expected at most {most} bytes, got {got}",
    "empty": "{file}: expected numbers, got an empty file",
    "kind": "{file}: expected one of {kinds}, got a file named otherwise",
    "renamed": "{file}: expected what its name says, got the content of {content}",
    "pickle": "{file}: a Python pickle may hold code and is not read: save the tensors as .safetensors or .npz",
    "code": "{file}: it holds more than tensors, which is never run: {why}",
    "corrupt": "{file}: it breaks off or is mixed up: {why}",
    "unpacked": "{file}: expected at most {most} bytes once unpacked, got {got}",
    "many": "{file}: expected at most {most} arrays, got {got}",
    "objects": "{file}: {name} holds Python objects, not numbers",
    "numbers": "{file}: {name} holds numbers of a kind that is not read: {got}",
    "lengths": "{file}: {name} has rows of different lengths: {why}",
    "text": "{file}: expected numbers, got {got!r} in line {line}",
    "nothing": "{file}: expected an array of {low} to {high} axes, got {got}",
    "none": "{file}: expected arrays or tokens, got neither",
    "room": "{file}: expected at most {most} bytes of numbers in all files that are held, got more",
    "files": "{file}: expected at most {most} files, got one more",
    "memory": "{file}: too little memory is free to read it",
}
CODES = tuple(_SENTENCES)


class FileRefused(ValueError):
    """A file that cannot be read; code is one of CODES, values are what its sentence names.

    >>> refused = FileRefused("empty", file="a.npy")
    >>> refused.code, str(refused)
    ('empty', 'a.npy: expected numbers, got an empty file')
    """

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(_SENTENCES[code].format(**values))
        self.code = code
        self.values = values

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.code, self.values)


def _again(code: str, values: dict[str, object]) -> FileRefused:
    return FileRefused(code, **values)
