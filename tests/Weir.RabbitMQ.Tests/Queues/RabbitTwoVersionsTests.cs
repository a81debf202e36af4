using Weir.Delivery.TestKit;
using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Two versions of a payload over one queue in RabbitMQ, where an item that failed is published again by the program in which it failed.</summary>
public sealed class RabbitTwoVersionsTests(RabbitServer server) : TwoVersionsContract
{
    private static readonly RabbitWorkQueueOptions Options = new() { RetryDelays = [TimeSpan.FromMilliseconds(1)] };

    private readonly string _name = server!.NewName();

    protected override bool KeepsBytesOfAnAttempt => false;

    protected override async Task SetupAsync()
    {
        await using RabbitWorkQueue<string> queue = new(server.Admin, _name, WorkSerializer.Text, Options);
        await queue.SetupAsync();
    }

    protected override IWorkQueue<T> Open<T>(IWorkSerializer<T> serializer) => new RabbitWorkQueue<T>(server.Worker, _name, serializer, Options);
}
