// ns-3: constant-rate UDP senders over a star or a fat-tree. Prints packet-hops.
//
// Packets of 1500 octets on the wire, links of 10 Gb/s, device queues of 100 packets in front of all
// links but the senders', no queue discs, IPv4 routers as switches.
//
// usage: ns3-cbr --shape=star --size=10 --seconds=0.1      10.5 Gb/s from `size` senders to one, 20 us
//        ns3-cbr --shape=fat-tree --size=4 --seconds=0.01  5 Gb/s from each of k^3/4 hosts to one in
//                                                          another half, 1 us, a random way for each packet

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t PAYLOAD = 1470;
constexpr uint16_t PORT = 9;
uint64_t hops = 0;
uint64_t drops = 0;

void
CountHop(Ptr<const Packet>)
{
    hops++;
}

void
CountDrop(Ptr<const Packet>)
{
    drops++;
}

void
Read(Ptr<Socket> socket)
{
    while (socket->Recv())
    {
    }
}

void
Send(Ptr<Socket> socket, Time period)
{
    socket->Send(Create<Packet>(PAYLOAD));
    Simulator::Schedule(period, &Send, socket, period);
}

/// Links, each with addresses of its own.
class Cables
{
  public:
    explicit Cables(Time delay)
    {
        m_link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
        m_link.SetChannelAttribute("Delay", TimeValue(delay));
        m_link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100p"));
        m_link.DisableFlowControl();
        m_addresses.SetBase("10.0.0.0", "255.255.255.252");
    }

    /// Joins two nodes; gives the first one's address.
    Ipv4Address Join(Ptr<Node> a, Ptr<Node> b)
    {
        auto devices = m_link.Install(a, b);
        for (uint32_t i = 0; i < 2; i++)
        {
            devices.Get(i)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&CountHop));
            devices.Get(i)->TraceConnectWithoutContext("MacTxDrop", MakeCallback(&CountDrop));
        }
        auto address = m_addresses.Assign(devices).GetAddress(0);
        m_addresses.NewNetwork();
        return address;
    }

  private:
    PointToPointHelper m_link;
    Ipv4AddressHelper m_addresses;
};

void
Flow(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, double rate, Time start)
{
    auto receiver = Socket::CreateSocket(to, UdpSocketFactory::GetTypeId());
    receiver->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    receiver->SetRecvCallback(MakeCallback(&Read));
    auto sender = Socket::CreateSocket(from, UdpSocketFactory::GetTypeId());
    sender->Connect(InetSocketAddress(address, PORT));
    Simulator::Schedule(start, &Send, sender, Seconds(12000 / rate));
}

void
Star(uint32_t senders)
{
    NodeContainer nodes;
    nodes.Create(senders + 2);
    InternetStackHelper().InstallAll();
    Cables cables(MicroSeconds(20));
    const auto address = cables.Join(nodes.Get(0), nodes.Get(1));
    for (uint32_t i = 0; i < senders; i++)
    {
        cables.Join(nodes.Get(2 + i), nodes.Get(1));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    for (uint32_t i = 0; i < senders; i++)
    {
        Flow(nodes.Get(2 + i), nodes.Get(0), address, 10.5e9 / senders, PicoSeconds(i * 1142857));
    }
}

void
FatTree(uint32_t k)
{
    const uint32_t half = k / 2;
    const uint32_t count = k * half * half;
    NodeContainer hosts;
    NodeContainer edges;
    NodeContainer aggregations;
    NodeContainer cores;
    hosts.Create(count);
    edges.Create(k * half);
    aggregations.Create(k * half);
    cores.Create(half * half);
    InternetStackHelper().InstallAll();
    Cables cables(MicroSeconds(1));
    std::vector<Ipv4Address> addresses;
    for (uint32_t i = 0; i < count; i++)
    {
        addresses.push_back(cables.Join(hosts.Get(i), edges.Get(i / half)));
    }
    for (uint32_t i = 0; i < k * half * half; i++)
    {
        const uint32_t pod = i / (half * half);
        const uint32_t left = i / half % half;
        const uint32_t right = i % half;
        cables.Join(edges.Get(pod * half + left), aggregations.Get(pod * half + right));
        cables.Join(aggregations.Get(pod * half + left), cores.Get(left * half + right));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    for (uint32_t i = 0; i < count; i++)
    {
        const uint32_t to = (i + count / 2) % count;
        Flow(hosts.Get(i), hosts.Get(to), addresses[to], 5e9, PicoSeconds(i * 2400000ull / count));
    }
}

} // namespace

int
main(int argc, char** argv)
{
    std::string shape = "star";
    uint32_t size = 10;
    double seconds = 0.1;
    CommandLine line;
    line.AddValue("shape", "star or fat-tree", shape);
    line.AddValue("size", "senders, or ports of a switch", size);
    line.AddValue("seconds", "end of the run", seconds);
    line.Parse(argc, argv);
    Time::SetResolution(Time::PS);
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(true));
    if (shape == "star")
    {
        Star(size);
    }
    else
    {
        FatTree(size);
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::printf("hops %lu drops %lu\n", hops, drops);
    Simulator::Destroy();
    return 0;
}
