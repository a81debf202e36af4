using Weir.Delivery.TestKit;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>The contract once more, with the order of keys kept and without notifications.</summary>
public sealed class PostgresKeyedQueueContractTests(PostgresServer server) : WorkQueueContract
{
    protected override async Task<IWorkQueue<string>> NewQueueAsync()
    {
        var options = new PostgresWorkQueueOptions
        {
            Schema = server.NewSchema(),
            LeaseDuration = TimeSpan.FromHours(10),
            KeepKeyOrder = true,
            UseNotifications = false,
            PollInterval = TimeSpan.FromMilliseconds(20),
        };
        var queue = new PostgresWorkQueue<string>(server.Source, "work", WorkSerializer.Text, options);
        await queue.SetupAsync();
        return queue;
    }
}
