"""Messages of a Chakra trace, by the field numbers of its schema (``et_def.proto``).

Only the fields that are read are described: the decoder passes over the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from qcnlab.errors import MissingPackage

if TYPE_CHECKING:
    from types import ModuleType

FIELDS: dict[str, tuple[tuple[str, int, str, bool], ...]] = {
    "Attribute": (
        ("name", 1, "bytes", False),
        ("double_val", 3, "double", False),
        ("float_val", 5, "float", False),
        ("int32_val", 7, "int32", False),
        ("int64_val", 9, "int64", False),
        ("uint32_val", 11, "uint32", False),
        ("uint64_val", 13, "uint64", False),
        ("sint32_val", 15, "sint32", False),
        ("sint64_val", 17, "sint64", False),
        ("fixed32_val", 19, "fixed32", False),
        ("fixed64_val", 21, "fixed64", False),
        ("sfixed32_val", 23, "sfixed32", False),
        ("sfixed64_val", 25, "sfixed64", False),
        ("bool_val", 27, "bool", False),
        ("string_val", 29, "bytes", False),
        ("bytes_val", 31, "bytes", False),
    ),
    "Metadata": (("version", 1, "bytes", False), ("attr", 2, "Attribute", True)),
    "Inputs": (("values", 1, "bytes", False),),
    "Node": (
        ("id", 1, "uint64", False),
        ("name", 2, "bytes", False),
        ("type", 3, "int32", False),
        ("ctrl_deps", 4, "uint64", True),
        ("data_deps", 5, "uint64", True),
        ("start_time_micros", 6, "uint64", False),
        ("duration_micros", 7, "uint64", False),
        ("inputs", 8, "Inputs", False),
        ("attr", 10, "Attribute", True),
    ),
}
"""For each message its fields: name, number, type, and whether it is repeated."""


Messages = Mapping[str, Callable[[], Any]]
"""What makes an empty message, by its name in `FIELDS`."""


def messages() -> Messages:
    """Return the classes of the messages of a trace.

    Raises
    ------
    MissingPackage
        Without protobuf: ``pip install 'qcnlab[chakra]'``.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise MissingPackage(
            f"Chakra traces need {error.name}: pip install 'qcnlab[chakra]'"
        ) from error
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file(descriptor_pb2))
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"trace.{name}"))
        for name in FIELDS
    }


def _file(library: ModuleType) -> Any:
    file = library.FileDescriptorProto(name="trace.proto", package="trace", syntax="proto2")
    kinds = library.FieldDescriptorProto
    for name, fields in FIELDS.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            if kind in FIELDS:
                message.field.add(
                    name=field,
                    number=number,
                    label=label,
                    type=kinds.TYPE_MESSAGE,
                    type_name=f".trace.{kind}",
                )
            else:
                type_ = kinds.Type.Value(f"TYPE_{kind.upper()}")
                message.field.add(name=field, number=number, label=label, type=type_)
    return file
