using Weir.Delivery.TestKit;
using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>The contract of queues, for the one in RabbitMQ, as a user with few rights.</summary>
public sealed class RabbitWorkQueueContractTests(RabbitServer server) : WorkQueueContract
{
    protected override async Task<IWorkQueue<string>> NewQueueAsync()
    {
        string name = server.NewName();
        var options = new RabbitWorkQueueOptions { RetryDelays = [TimeSpan.FromMilliseconds(1)] };
        await using (var setup = new RabbitWorkQueue<string>(server.Admin, name, WorkSerializer.Text, options))
        {
            await setup.SetupAsync();
        }

        return new RabbitWorkQueue<string>(server.Worker, name, WorkSerializer.Text, options);
    }
}
