//! The numbers of entities: the written order of one instant.

use crate::wheel::Entity;

/// How many there are of each kind of component.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) turns: u32,
    pub(crate) limiters: u32,
    pub(crate) connections: u32,
    pub(crate) ports: u32,
    pub(crate) flows: u32,
    pub(crate) generators: u32,
    pub(crate) adapters: u32,
    pub(crate) inputs: u32,
}

/// First entity of each kind, in the order of one instant.
pub(crate) struct Entities {
    pub(crate) service: Entity,
    pub(crate) pause: Entity,
    pub(crate) signal: Entity,
    pub(crate) wake: Entity,
    pub(crate) transport: Entity,
    pub(crate) arrive: Entity,
    pub(crate) generate: Entity,
    pub(crate) feed: Entity,
    pub(crate) release: Entity,
    pub(crate) adapter: Entity,
    pub(crate) again: Entity,
    pub(crate) deadlock: Entity,
    pub(crate) queues: Entity,
    pub(crate) rates: Entity,
    pub(crate) count: usize,
}

/// Ends of transmissions come first.
pub(crate) const END: Entity = 0;

impl Entities {
    pub(crate) fn new(sizes: Sizes) -> Entities {
        let service = END + sizes.turns;
        let pause = service + 1;
        let signal = pause + sizes.turns;
        let wake = signal + sizes.limiters;
        let transport = wake + sizes.limiters;
        let arrive = transport + sizes.connections;
        let generate = arrive + sizes.ports;
        let feed = generate + sizes.flows;
        let release = feed + sizes.generators;
        let adapter = release + sizes.limiters;
        let again = adapter + sizes.adapters;
        let deadlock = again + sizes.inputs;
        let queues = deadlock + 1;
        let rates = queues + 1;
        let count = rates as usize + 1;
        Entities {
            service,
            pause,
            signal,
            wake,
            transport,
            arrive,
            generate,
            feed,
            release,
            adapter,
            again,
            deadlock,
            queues,
            rates,
            count,
        }
    }
}
