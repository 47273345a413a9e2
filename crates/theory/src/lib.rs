//! What follows from a scenario without a run: the port that it congests, the margins of the control loop there, and
//! whether its buffers may wait for one another in a circle.

mod bottleneck;
mod deadlock;
mod margins;

pub use bottleneck::{Bottleneck, BottleneckPhase, Contender, Contenders, MinMeanMax, NoBottleneck, PortLoad};
pub use deadlock::{BufferCircle, CaseCount, CircularCase, DeadlockQuestion, DeadlockReport, Wait};
pub use margins::margins_json;
