-- Wireshark and tshark: CN-TAG and CNM of IEEE 802.1Qau, and the experimental frames of qcnlab.
--
-- Copy this file into Wireshark's personal plugin folder (Help, About, Folders), or name it:
--     tshark -X lua_script:qcnlab.lua -r capture.pcapng
--
-- The layouts, and how sure each is, are in docs/reference/wire-formats.md of qcnlab. Filters, for example:
--     cnm.fb > 30        cntag.rpid == 0x1234        qcnlab.kind == 4

local ethertypes = DissectorTable.get("ethertype")

local SIGNATURE = 0x514c4142 -- "QLAB"

-- Hand what follows a tag to the dissector of its EtherType, as Ethernet does. That dissector reports by itself what
-- is malformed there; pcall keeps the report from being taken for an error of this script.
local function next_layer(ethertype, rest, pinfo, tree)
    if ethertypes:get_dissector(ethertype) then
        pcall(ethertypes.try, ethertypes, ethertype, rest, pinfo, tree)
    else
        Dissector.get("data"):call(rest, pinfo, tree)
    end
end

-- CN-TAG, EtherType 0x22E9: IEEE 802.1Q clause 33.2.

local cntag = Proto("cntag", "Congestion Notification Tag")
cntag.fields.rpid = ProtoField.uint16("cntag.rpid", "Reaction point (RPID)", base.HEX)
cntag.fields.ethertype = ProtoField.uint16("cntag.etype", "Type", base.HEX)
local cntag_experts = { short = ProtoExpert.new("cntag.short", "CN-TAG is cut", expert.group.MALFORMED, expert.severity.ERROR) }
cntag.experts = cntag_experts

function cntag.dissector(buffer, pinfo, tree)
    local sub = tree:add(cntag, buffer(0, math.min(4, buffer:len())))
    if buffer:len() < 4 then
        sub:add_proto_expert_info(cntag_experts.short)
        return
    end
    sub:add(cntag.fields.rpid, buffer(0, 2))
    sub:add(cntag.fields.ethertype, buffer(2, 2))
    sub:append_text(string.format(", RPID: 0x%04x", buffer(0, 2):uint()))
    pinfo.cols.protocol = "CN-TAG"
    next_layer(buffer(2, 2):uint(), buffer(4):tvb(), pinfo, tree)
end

ethertypes:add(0x22E9, cntag)

-- CNM, EtherType 0x22E7: IEEE 802.1Q clauses 33.3 and 33.4.

local cnm = Proto("cnm", "Congestion Notification Message")
local cf = cnm.fields
cf.version = ProtoField.uint16("cnm.version", "Version", base.DEC, nil, 0xF000)
cf.reserved = ProtoField.uint16("cnm.reserved", "Reserved", base.HEX, nil, 0x0FC0)
cf.fb = ProtoField.uint16("cnm.fb", "Quantized feedback", base.DEC, nil, 0x003F)
cf.cpid = ProtoField.bytes("cnm.cpid", "Congestion point (CPID)", base.NONE)
cf.offset = ProtoField.int16("cnm.offset", "Queue offset (set point less length, 64-octet units)", base.DEC)
cf.offset_bytes = ProtoField.int32("cnm.offset_bytes", "Queue offset, octets", base.DEC)
cf.delta = ProtoField.int16("cnm.delta", "Queue delta (growth, 64-octet units)", base.DEC)
cf.delta_bytes = ProtoField.int32("cnm.delta_bytes", "Queue delta, octets", base.DEC)
cf.priority = ProtoField.uint16("cnm.priority", "Priority of the sampled frame", base.DEC, nil, 0xE000)
cf.priority_reserved = ProtoField.uint16("cnm.priority_reserved", "Reserved behind the priority", base.HEX, nil, 0x1FFF)
cf.destination = ProtoField.ether("cnm.dst", "Destination of the sampled frame")
cf.length = ProtoField.uint16("cnm.length", "Octets of the sampled frame", base.DEC)
cf.msdu = ProtoField.bytes("cnm.msdu", "Sampled frame")
cf.msdu_type = ProtoField.uint16("cnm.msdu_type", "Type of the sampled frame", base.HEX)
cf.padding = ProtoField.bytes("cnm.padding", "Padding")
local cnm_experts = {
    short = ProtoExpert.new("cnm.short", "CNM is shorter than its fields say", expert.group.MALFORMED, expert.severity.ERROR),
    long = ProtoExpert.new("cnm.long", "CNM carries more than 64 octets of a frame", expert.group.MALFORMED, expert.severity.ERROR),
    reserved = ProtoExpert.new("cnm.reserved_set", "Reserved bits or a version that is not 0", expert.group.PROTOCOL, expert.severity.NOTE),
}
cnm.experts = cnm_experts

function cnm.dissector(buffer, pinfo, tree)
    pinfo.cols.protocol = "CNM"
    if buffer:len() < 24 then
        tree:add(cnm, buffer()):add_proto_expert_info(cnm_experts.short)
        return
    end
    local length = buffer(22, 2):uint()
    local sub = tree:add(cnm, buffer(0, math.min(24 + length, buffer:len())))
    sub:add(cf.version, buffer(0, 2))
    sub:add(cf.reserved, buffer(0, 2))
    sub:add(cf.fb, buffer(0, 2))
    sub:add(cf.cpid, buffer(2, 8))
    sub:add(cf.offset, buffer(10, 2))
    sub:add(cf.offset_bytes, buffer(10, 2), buffer(10, 2):int() * 64):set_generated()
    sub:add(cf.delta, buffer(12, 2))
    sub:add(cf.delta_bytes, buffer(12, 2), buffer(12, 2):int() * 64):set_generated()
    sub:add(cf.priority, buffer(14, 2))
    sub:add(cf.priority_reserved, buffer(14, 2))
    sub:add(cf.destination, buffer(16, 6))
    sub:add(cf.length, buffer(22, 2))
    if buffer(0, 2):bitfield(0, 10) ~= 0 or buffer(14, 2):bitfield(3, 13) ~= 0 then
        sub:add_proto_expert_info(cnm_experts.reserved)
    end
    local fb = buffer(0, 2):bitfield(10, 6)
    local info = string.format(
        "CNM Fb %d offset %d B delta %d B priority %d", fb, buffer(10, 2):int() * 64, buffer(12, 2):int() * 64,
        buffer(14, 2):bitfield(0, 3))
    pinfo.cols.info = info
    sub:append_text(string.format(", Fb: %d", fb))
    if length > 64 then
        sub:add_proto_expert_info(cnm_experts.long)
        return
    end
    if buffer:len() < 24 + length then
        sub:add_proto_expert_info(cnm_experts.short)
        return
    end
    -- The sample is the start of a frame, so it stays octets: a dissector of its kind would call it malformed.
    if length > 0 then
        local msdu = sub:add(cf.msdu, buffer(24, length))
        if length >= 2 then
            msdu:add(cf.msdu_type, buffer(24, 2))
        end
    end
    if buffer:len() > 24 + length then
        sub:add(cf.padding, buffer(24 + length))
    end
end

ethertypes:add(0x22E7, cnm)

-- Messages of qcnlab's schemes, local experimental EtherType 0x88B5.

local message = Proto("qcnlab", "qcnlab Scheme Message")
local kinds = {
    [1] = "Probe", [2] = "Returned probe", [3] = "Probe answer", [4] = "BCN", [5] = "Queue report", [6] = "Echo",
    [7] = "Push-back", [8] = "Reflected mark",
    [9] = "Received rate", [10] = "Credit", [11] = "Source pause",
}
local mf = message.fields
mf.version = ProtoField.uint8("qcnlab.version", "Version", base.DEC)
mf.kind = ProtoField.uint8("qcnlab.kind", "Kind", base.DEC, kinds)
mf.cpid = ProtoField.bytes("qcnlab.cpid", "Congestion point (CPID)", base.NONE)
mf.directed = ProtoField.bool("qcnlab.directed", "Asks the named congestion point")
mf.asked_at = ProtoField.uint64("qcnlab.asked_at", "Asked at, ps", base.DEC)
mf.sent = ProtoField.uint64("qcnlab.sent", "Octets sent before", base.DEC)
mf.rate = ProtoField.uint64("qcnlab.rate", "Rate, bit/s", base.DEC)
mf.stop = ProtoField.bool("qcnlab.stop", "BCN(0,0)")
mf.offset = ProtoField.int32("qcnlab.offset", "Queue offset (set point less length), octets", base.DEC)
mf.delta = ProtoField.int32("qcnlab.delta", "Queue delta (growth), octets", base.DEC)
mf.capacity = ProtoField.uint64("qcnlab.capacity", "Rate of the port, bit/s", base.DEC)
mf.queue_len = ProtoField.uint64("qcnlab.queue_len", "Queue length, octets", base.DEC)
mf.arrived = ProtoField.uint64("qcnlab.arrived", "Octets arrived", base.DEC)
mf.fb = ProtoField.int16("qcnlab.fb", "Feedback", base.DEC)
mf.credit = ProtoField.uint64("qcnlab.credit", "Credit, octets", base.DEC)
mf.pause = ProtoField.uint64("qcnlab.pause", "Stop for, ps", base.DEC)
local message_experts = {
    short = ProtoExpert.new("qcnlab.short", "Message is cut", expert.group.MALFORMED, expert.severity.ERROR),
    kind = ProtoExpert.new("qcnlab.unknown", "Unknown kind or version", expert.group.MALFORMED, expert.severity.ERROR),
}
message.experts = message_experts

-- Fields behind the CPID, by kind: field and octets.
local probe = { { mf.directed, 1 }, { mf.asked_at, 8 }, { mf.sent, 8 }, { mf.rate, 8 } }
local bodies = {
    probe,
    probe,
    { { mf.asked_at, 8 }, { mf.offset, 4 }, { mf.delta, 4 }, { mf.capacity, 8 } },
    { { mf.stop, 1 }, { mf.offset, 4 }, { mf.delta, 4 } },
    { { mf.queue_len, 8 }, { mf.arrived, 8 } },
    {},
    {},
    { { mf.fb, 2 } },
    { { mf.rate, 8 } },
    { { mf.credit, 8 } },
    { { mf.pause, 8 } },
}

function message.dissector(buffer, pinfo, tree)
    if buffer:len() < 4 or buffer(0, 4):uint() ~= SIGNATURE then
        Dissector.get("data"):call(buffer, pinfo, tree)
        return
    end
    pinfo.cols.protocol = "QCNLAB"
    local sub = tree:add(message, buffer())
    if buffer:len() < 14 then
        sub:add_proto_expert_info(message_experts.short)
        return
    end
    sub:add(mf.version, buffer(4, 1))
    sub:add(mf.kind, buffer(5, 1))
    sub:add(mf.cpid, buffer(6, 8))
    local body = bodies[buffer(5, 1):uint()]
    if body == nil or buffer(4, 1):uint() ~= 0 then
        sub:add_proto_expert_info(message_experts.kind)
        return
    end
    pinfo.cols.info = kinds[buffer(5, 1):uint()]
    local at = 14
    for _, entry in ipairs(body) do
        local field, octets = entry[1], entry[2]
        if buffer:len() < at + octets then
            sub:add_proto_expert_info(message_experts.short)
            return
        end
        sub:add(field, buffer(at, octets))
        at = at + octets
    end
    sub:set_len(at)
end

ethertypes:add(0x88B5, message)

-- Tag of qcnlab's schemes on data frames, local experimental EtherType 0x88B6.

local tag = Proto("qcnlabtag", "qcnlab Scheme Tag")
local tf = tag.fields
tf.probe = ProtoField.bool("qcnlabtag.probe", "Asks for bandwidth", 8, nil, 0x01)
tf.limited = ProtoField.bool("qcnlabtag.limited", "Paced by a limiter", 8, nil, 0x02)
tf.mark = ProtoField.uint8("qcnlabtag.mark", "Mark", base.DEC)
tf.cpid = ProtoField.bytes("qcnlabtag.cpid", "Congestion point of the limiter (CPID)", base.NONE)
tf.ethertype = ProtoField.uint16("qcnlabtag.etype", "Type", base.HEX)
local tag_experts = { short = ProtoExpert.new("qcnlabtag.short", "Tag is cut", expert.group.MALFORMED, expert.severity.ERROR) }
tag.experts = tag_experts

function tag.dissector(buffer, pinfo, tree)
    if buffer:len() < 4 or buffer(0, 4):uint() ~= SIGNATURE then
        Dissector.get("data"):call(buffer, pinfo, tree)
        return
    end
    local sub = tree:add(tag, buffer(0, math.min(16, buffer:len())))
    if buffer:len() < 16 then
        sub:add_proto_expert_info(tag_experts.short)
        return
    end
    sub:add(tf.probe, buffer(4, 1))
    sub:add(tf.limited, buffer(4, 1))
    sub:add(tf.mark, buffer(5, 1))
    sub:add(tf.cpid, buffer(6, 8))
    sub:add(tf.ethertype, buffer(14, 2))
    next_layer(buffer(14, 2):uint(), buffer(16):tvb(), pinfo, tree)
end

ethertypes:add(0x88B6, tag)
