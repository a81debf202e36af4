using Weir.Delivery.TestKit;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>The contract of queues, for the one in PostgreSQL.</summary>
public sealed class PostgresWorkQueueContractTests(PostgresServer server) : WorkQueueContract
{
    protected override async Task<IWorkQueue<string>> NewQueueAsync()
    {
        var options = new PostgresWorkQueueOptions { Schema = server.NewSchema(), LeaseDuration = TimeSpan.FromHours(10) };
        var queue = new PostgresWorkQueue<string>(server.Source, "the \"queue\" ü", WorkSerializer.Text, options);
        await queue.SetupAsync();
        return queue;
    }
}
