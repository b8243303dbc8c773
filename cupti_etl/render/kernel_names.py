"""Kernel names as trees: a function, and the arguments of its template that say what it does."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from cupti_etl.capture.names import identifier, mangled_arguments, parameters

# What follows such a length, or lies so deep, tells nobody anything.
_LONGEST = 16384
_DEEPEST = 24
_OPERATOR = re.compile(r"operator\s*(?:\(\)|\[\]|[<>=!+\-*/%&|^~,]+)")
_LAMBDA = re.compile(r"\{lambda\((?P<of>.*)\)#(?P<number>\d+)\}\Z")
_CLOSES = {"(": ")", "{": "}"}
_WORD = re.compile(r"[A-Za-z_]\w*\Z")
# Arguments that do not say what is computed: types, and how data are reached.
_TYPES = re.compile(
    r"(?:unsigned |signed )?(?:void|bool|char|short|int|long|float|double|half|__half2?|Half"
    r"|BFloat16|__(?:nv|hip)_bfloat16|__bf16|_Float16|u?int\d+_t|size_t"
    r"|complex|true|false|decltype|NullType)(?: |\Z)"
)
_FURNITURE = re.compile(
    r"(?:a|A)rray|pair|tuple|TensorListMetadata|TensorListScalarListMetadata|TensorInfo"
    r"|(?:Trivial)?OffsetCalculator|(?:Load|Store)With(?:out)?Cast|OpaqueType|Agent\w*Policy"
    r"|\w*Params(?:Ex)?"
)
# Templates that pass their argument on: it says what they do.
_WRAPPERS = {"func_wrapper_t", "gpu_kernel_impl", "gpu_kernel_impl_nocast", "ReduceOp"}
# Functions of libraries that do what their argument says, so that it belongs to their name.
_SAYS_LITTLE = re.compile(
    r"[Kk]ernel\d*|device_kernel|kentry|_kernel_agent|multi_tensor_apply_kernel|reduce_kernel"
    r"|\w*elementwise_kernel\w*"
)
_SAYS_NOTHING = re.compile(r"[Kk]ernel\d*|device_kernel|kentry|_kernel_agent")


@dataclass(frozen=True)
class Name:
    """A function, type or value, without the namespaces around it."""

    head: str
    arguments: tuple[Name, ...] = ()

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.arguments))
        return f"{self.head}<{inner}>" if inner else self.head

    @property
    def says_what(self) -> bool:
        """Whether it names what is computed, rather than a type, a number or a container."""
        return bool(
            _WORD.match(self.head)
            and not _TYPES.match(self.head)
            and not _FURNITURE.fullmatch(self.head)
        )


@cache
def parse(demangled: str) -> Name:
    """The tree of a demangled name, or what can be read of one that nothing could demangle."""
    if demangled.startswith("_Z"):
        mangled = demangled[:_LONGEST]
        found = tuple(map(Name, mangled_arguments(mangled)))
        if found and found[0].says_what:
            # What such a name is long by are most often arguments of its first argument.
            found = (Name(found[0].head, found[1:]),)
        return Name(identifier(mangled)[0], found)
    text = demangled[:_LONGEST].replace("(anonymous namespace)::", "")
    head, listed = parameters(text)
    if listed:
        return Name(head, tuple(map(Name, listed)))
    return _Parser(text).item(0, top=True)


def labels(named: Sequence[tuple[str, str]]) -> list[str]:
    """For each function name and demangled name the function, and what tells it from the others.

    Functions with one name get the arguments in which they differ; those whose name says little
    get the argument that says what they do, in any company.
    """
    texts = [name for name, _ in named]
    groups: dict[str, set[str]] = defaultdict(set)
    for name, demangled in named:
        groups[name].add(demangled)
    found: dict[tuple[str, str], str] = {}
    for name, group in groups.items():
        members = sorted(group)
        trees = [parse(each).arguments for each in members]
        if len(members) > 1 or _SAYS_LITTLE.fullmatch(name):
            for demangled, tree, told in zip(members, trees, _tell_apart(trees), strict=True):
                found[name, demangled] = _with(name, demangled, tree, told)
    return [found.get(each, text) for each, text in zip(named, texts, strict=True)]


def _with(name: str, demangled: str, arguments: Sequence[Name], told: Sequence[str]) -> str:
    """The function with what is told of its arguments, or that alone if the name says nothing."""
    if _SAYS_NOTHING.fullmatch(name):
        if any(each.says_what for each in arguments):
            return ", ".join(told)
        # What nothing else says its namespace may, as that of cuBLAS's gemvx::kernel does.
        around = re.search(rf"\w+::{name}\b", demangled)
        name = around[0] if around else name
    return f"{name}<{', '.join(told)}>" if told else name


def _tell_apart(lists: Sequence[tuple[Name, ...]]) -> list[list[str]]:
    """Of each list of arguments the one that says what it does, and those that differ."""
    chosen: list[dict[int, str]] = [{} for _ in lists]
    _split(lists, list(range(len(lists))), chosen)
    for at, arguments in enumerate(lists):
        if not any(arguments[place].says_what for place in chosen[at]):
            place = next((i for i, each in enumerate(arguments) if each.says_what), None)
            if place is not None:
                chosen[at][place] = _brief(arguments[place])
    return [[texts[place] for place in sorted(texts)] for texts in chosen]


def _split(
    lists: Sequence[tuple[Name, ...]], group: list[int], chosen: list[dict[int, str]]
) -> None:
    """Choose the place that tells most of a group apart, then go on with those still alike."""
    best: dict[Name | None, list[int]] = {}
    best_place, best_rank = -1, (False, 1)
    for place in range(max((len(lists[at]) for at in group), default=0)):
        values: dict[Name | None, list[int]] = defaultdict(list)
        for at in group:
            values[lists[at][place] if place < len(lists[at]) else None].append(at)
        says = any(value is not None and value.says_what for value in values)
        rank = (says, len(values))
        if len(values) > 1 and (best_place < 0 or rank > best_rank):
            best, best_place, best_rank = values, place, rank
    if best_place < 0:
        return
    present = [value for value in best if value is not None]
    texts = dict(zip(present, _texts(present), strict=True))
    for value, members in best.items():
        if value is not None:
            for at in members:
                chosen[at][best_place] = texts[value]
        if len(members) > 1:
            _split(lists, members, chosen)


def _texts(values: Sequence[Name]) -> list[str]:
    """A text for each of different arguments in one place."""
    texts = [_brief(value) for value in values]
    groups: dict[str, list[int]] = defaultdict(list)
    for at, text in enumerate(texts):
        groups[text].append(at)
    for members in groups.values():
        if len(members) == 1:
            continue
        inner = [_unwrap(values[at]) for at in members]
        if len(set(inner)) < len(inner):  # only the wrappers differ
            inner = [values[at] for at in members]
        for at, name, told in zip(
            members, inner, _tell_apart([each.arguments for each in inner]), strict=True
        ):
            texts[at] = f"{name.head}<{', '.join(told)}>" if told else name.head
    return texts


def _unwrap(name: Name) -> Name:
    while name.head in _WRAPPERS:
        inner = next((each for each in name.arguments if each.says_what), None)
        if inner is None:
            break
        name = inner
    return name


def _brief(name: Name) -> str:
    """The name, with the first of its arguments that says what it does."""
    name = _unwrap(name)
    inner = next((_unwrap(each) for each in name.arguments if each.says_what), None)
    return f"{name.head}<{inner.head}>" if inner and inner.head != name.head else name.head


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0

    def item(self, at: int, depth: int = 0, *, top: bool = False) -> Name:
        """What stands up to a comma or closing bracket, where ``_end`` is then."""
        text = self._text
        parts: list[tuple[str, list[Name]]] = []
        word = ""
        arguments: list[Name] = []
        while at < len(text) and text[at] not in ",>":
            char = text[at]
            operator = (
                _OPERATOR.match(text, at) if char == "o" and not word[-1:].isalnum() else None
            )
            if operator:
                word, at = word + operator[0], operator.end()
            elif char == "<" and depth < _DEEPEST:
                arguments = self._arguments(at + 1, depth + 1)
                at = self._end + 1
            elif char in _CLOSES or char == "<":
                opens, at = at, self._skip(at)
                if char == "{":
                    word += text[opens:at]
                elif top and word:
                    break  # the arguments of the call
            elif text.startswith("::", at):
                parts.append((word, arguments))
                word, arguments, at = "", [], at + 2
            else:
                word, at = word + char, at + 1
        self._end = at
        parts.append((word, arguments))
        return _named([(word.strip(), found) for word, found in parts], top)

    def _arguments(self, at: int, depth: int) -> list[Name]:
        found = []
        self._end = at
        while at < len(self._text):
            found.append(self.item(at, depth))
            at = self._end
            if self._text[at : at + 1] != ",":
                break
            at += 1
        return [each for each in found if each.head]

    def _skip(self, at: int) -> int:
        """Behind what the bracket here opens; in it, < and > may be operators."""
        opens = self._text[at]
        closes = _CLOSES.get(opens, ">")
        depth = 0
        for place in range(at, len(self._text)):
            depth += (self._text[place] == opens) - (self._text[place] == closes)
            if depth == 0:
                return place + 1
        return len(self._text)


def _named(parts: list[tuple[str, list[Name]]], top: bool) -> Name:
    """The tree of ``a::b<c>::{lambda(int)#1}``: the function, its arguments, then the lambda's."""
    plain = [at for at, (word, _) in enumerate(parts) if _is_own(word) or (top and word)]
    last = plain[-1] if plain else 0
    word = parts[last][0] if plain else "lambda"
    # An operator of a function or a lambda within it has arguments of its own.
    arguments = [each for _, found in parts[last:] for each in found]
    lambdas = [found for word_, _ in parts if (found := _LAMBDA.match(word_))]
    if lambdas:
        types = (each.strip() for each in lambdas[-1]["of"].split(","))
        arguments += [Name(each) for each in types if each]
        arguments.append(Name("#" + ".".join(found["number"] for found in lambdas)))
    if top and not word.startswith("operator"):
        word = word.rsplit(" ", 1)[-1]  # before it is what it returns
    return Name(word.removesuffix("const").strip(), tuple(arguments))


def _is_own(word: str) -> bool:
    return bool(word) and not _LAMBDA.match(word) and not word.startswith("operator")
