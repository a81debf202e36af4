using Weir.Delivery.TestKit;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Two versions of a payload over one queue in PostgreSQL, where the row of an item that failed stays as it is.</summary>
public sealed class PostgresTwoVersionsTests(PostgresServer server) : TwoVersionsContract
{
    private readonly PostgresWorkQueueOptions _options = new() { Schema = server!.NewSchema(), LeaseDuration = TimeSpan.FromHours(10) };

    protected override bool KeepsBytesOfAnAttempt => true;

    protected override async Task SetupAsync()
    {
        await using PostgresWorkQueue<string> queue = new(server.Source, "mails", WorkSerializer.Text, _options);
        await queue.SetupAsync();
    }

    protected override IWorkQueue<T> Open<T>(IWorkSerializer<T> serializer) => new PostgresWorkQueue<T>(server.Source, "mails", serializer, _options);
}
