//! The objects of IEEE8021-CN-MIB (revision 2018-06-28), each with its Linux field and our parameter.

use std::fmt::Write;

/// One object of the MIB.
#[derive(Clone, Copy, Debug)]
pub struct MibObject {
    /// Its name.
    pub name: &'static str,
    /// Its position below ieee8021CnMIBObjects (1.3.111.2.802.1.1.18.1): table, entry, column.
    pub position: &'static str,
    /// Its type and range.
    pub syntax: &'static str,
    /// Its unit; empty for none.
    pub unit: &'static str,
    /// The field of Linux' `ieee_qcn` or `ieee_qcn_stats`, with its unit; empty for none.
    pub linux: &'static str,
    /// Where our answer comes from.
    pub ours: &'static str,
}

macro_rules! objects {
    ($( $position:literal $name:literal $syntax:literal $unit:literal $linux:literal $ours:literal; )*) => {
        &[$( MibObject {
            name: concat!("ieee8021Cn", $name),
            position: $position,
            syntax: $syntax,
            unit: $unit,
            linux: $linux,
            ours: $ours,
        }, )*]
    };
}

/// Every accessible object, in the order of the MIB.
pub const MIB_OBJECTS: &[MibObject] = objects! {
    "1.1.2" "GlobalMasterEnable" "TruthValue" "" "" "true for who takes part: `domain.outside`";
    "1.1.3" "GlobalCnmTransmitPriority" "0..7" "" "" "`feedback.priority` with `feedback.kind = \"frames\"`";
    "1.1.4" "GlobalDiscardedFrames" "Counter64" "frames" "" "frames discarded at all congestion points of the bridge, counted";
    "2.1.3" "EpIfIndex" "InterfaceIndex" "" "" "no rows: an alternate priority under congestion control is refused before the run";
    "3.1.3" "ComPriDefModeChoice" "cpcAdmin(1), cpcAuto(2)" "" "" "cpcAuto: `[[defence]]` fixes modes port by port";
    "3.1.4" "ComPriAlternatePriority" "0..7" "" "" "`domain.alternate_priority`";
    "3.1.5" "ComPriAutoAltPri" "0..7" "" "" "next lower priority outside congestion control, else next higher";
    "3.1.6" "ComPriAdminDefenseMode" "cptDisabled(1), cptInterior(2), cptInteriorReady(3), cptEdge(4)" "" "" "none: the component's choice is automatic";
    "3.1.7" "ComPriCreation" "cncpAutoEnable(1), cncpAutoDisable(2)" "" "" "none: no port is created during a run";
    "3.1.8" "ComPriLldpInstanceChoice" "cnlNone(1), cnlAdmin(2)" "" "" "cnlAdmin: `[[defence]]` turns LLDP off port by port";
    "3.1.9" "ComPriLldpInstanceSelector" "LldpV2DestAddressTableIndex" "" "" "none: there is no table of LLDP addresses";
    "3.1.10" "ComPriRowStatus" "RowStatus" "" "" "active: `domain.priorities`";
    "4.1.4" "PortPriDefModeChoice" "cpcAdmin(1), cpcAuto(2), cpcComp(3)" "" "" "`defence.mode`; cpcComp where no table sets the port";
    "4.1.5" "PortPriAdminDefenseMode" "cptDisabled(1), cptInterior(2), cptInteriorReady(3), cptEdge(4)" "" "" "`defence.mode`, where it is fixed";
    "4.1.6" "PortPriAutoDefenseMode" "cptInterior(2), cptInteriorReady(3), cptEdge(4)" "" "`cndd_state_machine`: 1 edge, 2 interior, 3 interior ready" "what LLDP settled before the run";
    "4.1.7" "PortPriLldpInstanceChoice" "cnlNone(1), cnlAdmin(2), cnlComponent(3)" "" "" "`defence.lldp`";
    "4.1.8" "PortPriLldpInstanceSelector" "LldpV2DestAddressTableIndex" "" "" "none: there is no table of LLDP addresses";
    "4.1.9" "PortPriAlternatePriority" "0..7" "" "" "`defence.alternate_priority`, else the domain's";
    "5.1.4" "CpPriority" "0..7" "" "" "the class of the congestion point's queue";
    "5.1.5" "CpMacAddress" "MacAddress" "" "" "the bridge's address, as captures have it";
    "5.1.6" "CpIdentifier" "OCTET STRING (8)" "" "" "the CPID, as captures have it";
    "5.1.7" "CpQueueSizeSetPoint" "Unsigned32, 100.." "octets" "" "`scheme.cp.set_point`";
    "5.1.8" "CpFeedbackWeight" "Integer32, -10..10" "log2" "" "log2 of `scheme.cp.w`";
    "5.1.9" "CpMinSampleBase" "Unsigned32, 10000.." "octets" "" "`scheme.cp.sample_base`";
    "5.1.10" "CpDiscardedFrames" "Counter64" "frames" "" "frames that found no room in the congestion point's queue, counted";
    "5.1.11" "CpTransmittedFrames" "Counter64" "frames" "" "frames that its queue passed on, counted";
    "5.1.12" "CpTransmittedCnms" "Counter64" "frames" "" "messages that it sent, counted: rows of the table `messages`";
    "5.1.13" "CpMinHeaderOctets" "Unsigned32, 0..64" "octets" "" "0: no minimum is enforced; a CNM has up to 64, as many as fit";
    "6.1.2" "CpidToIfComponentId" "IEEE8021PbbComponentIdentifier" "" "" "1: a bridge is one component";
    "6.1.3" "CpidToIfIfIndex" "InterfaceIndex" "" "" "number of the port at its node, from 1";
    "6.1.4" "CpidToIfCpIndex" "Unsigned32, 1..4096" "" "" "number of the congestion point at its port, from 1";
    "7.1.4" "RpPortPriMaxRps" "Unsigned32, 1..100" "" "`rppp_max_rps`" "`adapter.max_rps`; 1 where frames leave without CN-TAG";
    "7.1.5" "RpPortPriCreatedRps" "Counter32" "" "`rppp_created_rps`" "how often a limiter began to limit, counted; wraps at 2^32";
    "7.1.6" "RpPortPriCentiseconds" "Counter64" "centiseconds" "`rppp_rp_centiseconds`" "how long limiters limited, summed over limiters, rounded down";
    "8.1.5" "RpgEnable" "TruthValue" "" "`rpg_enable`, 1 or 0" "true: the host has reaction points for the priority";
    "8.1.6" "RpgTimeReset" "TimeInterval" "milliseconds" "`rpg_time_reset`, microseconds" "`scheme.rp.time_reset`";
    "8.1.7" "RpgByteReset" "Unsigned32" "octets" "`rpg_byte_reset`, octets" "`scheme.rp.byte_reset`";
    "8.1.8" "RpgThreshold" "Unsigned32" "stages" "`rpg_threshold`" "`scheme.rp.threshold`";
    "8.1.9" "RpgMaxRate" "Unsigned32" "Mb/s" "`rpg_max_rate`, Mb/s" "`scheme.rp.max_rate`, else the rate of the port";
    "8.1.10" "RpgAiRate" "Unsigned32" "Mb/s" "`rpg_ai_rate`, Mb/s" "`scheme.rp.ai_rate`";
    "8.1.11" "RpgHaiRate" "Unsigned32" "Mb/s" "`rpg_hai_rate`, Mb/s" "`scheme.rp.hai_rate`";
    "8.1.12" "RpgGd" "Integer32" "-log2" "`rpg_gd`, -log2" "-log2 of `scheme.rp.gd`";
    "8.1.13" "RpgMinDecFac" "Unsigned32, 1..100" "percent" "`rpg_min_dec_fac`, percent" "`scheme.rp.min_dec_fac` times 100";
    "8.1.14" "RpgMinRate" "Unsigned32" "Mb/s" "`rpg_min_rate`, bit/s by the header's comment" "`scheme.rp.min_rate`";
};

/// The table of objects as Markdown, for the documentation.
pub fn mib_objects_markdown() -> String {
    let mut text = String::from(
        "| object, without `ieee8021Cn` | below 1.3.111.2.802.1.1.18.1 | type | unit | Linux | our answer |\n|---|---|---|---|---|---|\n",
    );
    for object in MIB_OBJECTS {
        let MibObject { name, position, syntax, unit, linux, ours } = object;
        let name = name.trim_start_matches("ieee8021Cn");
        // Writing to a string does not fail.
        let _ = writeln!(text, "| `{name}` | {position} | {syntax} | {unit} | {linux} | {ours} |");
    }
    text
}
