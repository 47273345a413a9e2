// ns-3: Reno connections through one bottleneck. Prints one JSON object.
//
// Each sender has a link of its own to a switch (a router without latency), the switch one slower link
// `buffer` packets, the one in transmission not counted. Packets of 1500 octets on the wire: 1458 of
// payload, 20 of TCP, 20 of IP, 2 of PPP; no options but on the SYN.
//
// usage: ns3-tcp --starts=SECONDS,SECONDS,... --rate=BPS --access=BPS --near=SECONDS --far=SECONDS
//                --buffer=PACKETS --min-rto=SECONDS --warmup=SECONDS --end=SECONDS [--variant=TcpLinuxReno]
//                [--sample=SECONDS]
// `near` and `far` are one-way delays of the senders' links and of the sink's.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <ctime>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t SEGMENT = 1458;
uint32_t WINDOW = 128304;

/// What is known of one connection.
struct Connection
{
    Ptr<Socket> socket;
    double window = 0; //!< cwnd as RFC 5681 counts it, inflated in recovery, octets
    double ssthresh = 0;
    uint64_t highest = 0;
    uint64_t acknowledged = 0;
    uint64_t received = 0;
    uint64_t timeouts = 0;
    uint64_t recoveries = 0;
};

std::vector<Connection> connections;
uint64_t drops = 0;
uint64_t hops = 0;
double windowSum = 0;
double flightSum = 0;
uint64_t samples = 0;

/// TcpNewReno that halves what RFC 5681 calls FlightSize: everything sent and not acknowledged. ns-3 itself
/// leaves out the segments that duplicate acknowledgements stand for.
class WholeFlight : public TcpNewReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ns3::WholeFlight").SetParent<TcpNewReno>().AddConstructor<WholeFlight>();
        return id;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t) override
    {
        const uint32_t flight = state->m_highTxMark.Get() - state->m_lastAckedSeq;
        return std::max(2 * state->m_segmentSize, flight / 2);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<WholeFlight>(this);
    }
};

NS_OBJECT_ENSURE_REGISTERED(WholeFlight);

struct Totals
{
    uint64_t received = 0;
    uint64_t drops = 0;
    uint64_t timeouts = 0;
    uint64_t recoveries = 0;
};

Totals
Count()
{
    Totals totals;
    totals.drops = drops;
    for (const auto& each : connections)
    {
        totals.received += each.received;
        totals.timeouts += each.timeouts;
        totals.recoveries += each.recoveries;
    }
    return totals;
}

void
Fill(Ptr<Socket> socket, uint32_t)
{
    while (socket->GetTxAvailable() >= SEGMENT)
    {
        if (socket->Send(Create<Packet>(SEGMENT)) < 0)
        {
            return;
        }
    }
}

void
Read(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        Address from;
        socket->GetPeerName(from);
        const auto port = InetSocketAddress::ConvertFrom(from).GetPort();
        connections[port - 1000].received += packet->GetSize();
    }
}

void
Accepted(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&Read));
}

void
OnWindow(uint32_t i, uint32_t, uint32_t window)
{
    connections[i].window = window;
}

void
OnHighest(uint32_t i, SequenceNumber32, SequenceNumber32 sequence)
{
    connections[i].highest = sequence.GetValue();
}

void
OnAcknowledged(uint32_t i, SequenceNumber32, SequenceNumber32 sequence)
{
    connections[i].acknowledged = sequence.GetValue();
}

void
OnState(uint32_t i, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
    connections[i].timeouts += state == TcpSocketState::CA_LOSS;
    connections[i].recoveries += state == TcpSocketState::CA_RECOVERY;
}

void
Start(uint32_t i, InetSocketAddress sink)
{
    auto& each = connections[i];
    each.socket->TraceConnectWithoutContext("CongestionWindowInflated", MakeBoundCallback(&OnWindow, i));
    each.socket->TraceConnectWithoutContext("HighestSequence", MakeBoundCallback(&OnHighest, i));
    each.socket->TraceConnectWithoutContext("HighestRxAck", MakeBoundCallback(&OnAcknowledged, i));
    each.socket->TraceConnectWithoutContext("CongState", MakeBoundCallback(&OnState, i));
    each.socket->SetSendCallback(MakeCallback(&Fill));
    each.socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), 1000 + i));
    each.socket->Connect(sink);
}

void
Sample(Time every)
{
    for (const auto& each : connections)
    {
        windowSum += each.window;
        flightSum += static_cast<double>(each.highest) - static_cast<double>(each.acknowledged);
    }
    samples++;
    Simulator::Schedule(every, &Sample, every);
}

void
CountDrop(Ptr<const Packet>)
{
    drops++;
}

void
CountHop(Ptr<const Packet>)
{
    hops++;
}

NetDeviceContainer
Link(Ptr<Node> a, Ptr<Node> b, uint64_t rate, double delay, uint32_t queue)
{
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    helper.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    helper.DisableFlowControl();
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)));
    auto devices = helper.Install(a, b);
    devices.Get(1)->SetAttribute("DataRate", DataRateValue(DataRate(rate * 42 / 64)));
    for (uint32_t i = 0; i < 2; i++)
    {
        devices.Get(i)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&CountHop));
    }
    return devices;
}

void
SetDefaults(const std::string& variant, double minRto)
{
    Time::SetResolution(Time::PS);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + variant)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRto)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(minRto)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(3));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(WINDOW));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW));
}

} // namespace

int
main(int argc, char** argv)
{
    std::string starts = "0";
    std::string variant = "TcpLinuxReno";
    uint64_t rate = 1000000000;
    uint64_t access = 10000000000;
    double near = 0;
    double far = 0;
    double minRto = 1;
    double warmup = 0;
    double end = 1;
    double sample = 1e-4;
    uint32_t buffer = 100;

    CommandLine line;
    line.AddValue("starts", "start times", starts);
    line.AddValue("variant", "congestion control", variant);
    line.AddValue("rate", "bottleneck", rate);
    line.AddValue("access", "senders' links", access);
    line.AddValue("near", "one-way delay of senders' links", near);
    line.AddValue("far", "one-way delay of the sink's link", far);
    line.AddValue("buffer", "packets", buffer);
    line.AddValue("window", "window, octets", WINDOW);
    line.AddValue("min-rto", "smallest timeout", minRto);
    line.AddValue("warmup", "counting starts", warmup);
    line.AddValue("end", "end of the run", end);
    line.AddValue("sample", "between samples of windows", sample);
    line.Parse(argc, argv);
    SetDefaults(variant, minRto);

    std::vector<double> when;
    std::stringstream list(starts);
    for (std::string item; std::getline(list, item, ',');)
    {
        when.push_back(std::stod(item));
    }
    NodeContainer senders;
    senders.Create(when.size());
    auto router = CreateObject<Node>();
    auto sink = CreateObject<Node>();
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.1.0.0", "255.255.255.252");

    auto out = Link(router, sink, rate, far, buffer);
    auto bottleneck = DynamicCast<PointToPointNetDevice>(out.Get(0));
    bottleneck->TraceConnectWithoutContext("MacTxDrop", MakeCallback(&CountDrop));
    InetSocketAddress target(addresses.Assign(out).GetAddress(1), 9);
    addresses.NewNetwork();
    connections.resize(when.size());
    for (uint32_t i = 0; i < when.size(); i++)
    {
        auto in = Link(senders.Get(i), router, access, near, 1000000);
        addresses.Assign(in);
        addresses.NewNetwork();
        connections[i].socket = Socket::CreateSocket(senders.Get(i), TcpSocketFactory::GetTypeId());
        Simulator::Schedule(Seconds(when[i]), &Start, i, target);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    auto listener = Socket::CreateSocket(sink, TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Accepted));

    Totals before;
    Simulator::Schedule(Seconds(warmup), [&before]() { before = Count(); });
    Simulator::Schedule(Seconds(warmup), &Sample, Seconds(sample));
    Simulator::Stop(Seconds(end));
    Simulator::Run();
    const auto after = Count();
    timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    std::printf("{\"goodput_bps\": %.1f, \"drops\": %lu, \"timeouts\": %lu, \"recoveries\": %lu, "
                "\"window_bytes\": %.1f, \"flight_bytes\": %.1f, \"frame_hops\": %lu, \"cpu_s\": %.3f}\n",
                (after.received - before.received) * 8 / (end - warmup),
                after.drops - before.drops,
                after.timeouts - before.timeouts,
                after.recoveries - before.recoveries,
                windowSum / samples / connections.size(),
                flightSum / samples / connections.size(),
                hops,
                cpu.tv_sec + cpu.tv_nsec * 1e-9);
    Simulator::Destroy();
    return 0;
}
