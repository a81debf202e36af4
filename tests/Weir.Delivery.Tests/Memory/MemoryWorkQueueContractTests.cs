using Weir.Delivery.TestKit;

namespace Weir.Delivery.Tests.Memory;

/// <summary>The contract of queues, for the one in memory.</summary>
public sealed class MemoryWorkQueueContractTests : WorkQueueContract
{
    protected override bool BoundsValues => false;

    protected override Task<IWorkQueue<string>> NewQueueAsync() =>
        Task.FromResult<IWorkQueue<string>>(new MemoryWorkQueue<string>("memory", WorkSerializer.Text));
}
