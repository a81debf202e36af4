using System.Diagnostics;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>What the server says of a queue, while items live and die.</summary>
public sealed class StatisticsTests(PostgresServer server) : QueueTest(server)
{
    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GetStatistics_LifeOfItems_IsCounted(bool keepKeyOrder)
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(o => o with { KeepKeyOrder = keepKeyOrder, MaxItemsPerBatch = 2 });
        Assert.Equal((0, 0, 0, 0), await CountAsync(queue));
        Assert.Equal(TimeSpan.Zero, (await queue.GetStatisticsAsync()).OldestAge);
        await queue.EnqueueAsync(Values(5, static i => $"{i}"));
        await queue.EnqueueAsync([new WorkItem<string>(new WorkId("later", 0), "later")], TimeSpan.FromHours(1));
        long before = Stopwatch.GetTimestamp();
        await ExecuteAsync($"UPDATE {Items} SET due = now() - interval '90 seconds' WHERE place = 4 AND origin = 'values'");
        Assert.Equal((5, 1, 0, 0), await CountAsync(queue));
        double age = (await queue.GetStatisticsAsync()).OldestAge!.Value.TotalSeconds;

        // However long this took; a second for clocks that are set meanwhile.
        Assert.InRange(age, 89, 91 + Stopwatch.GetElapsedTime(before).TotalSeconds);

        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> first = await NextAsync(source);
        WorkBatch<string> second = await NextAsync(source);
        Assert.Equal((1, 1, 4, 0), await CountAsync(queue));
        await source.Redelivery!.RedeliverAsync(first, [first.Items[0]], TimeSpan.FromHours(2), CancellationToken.None);
        await source.AcknowledgeAsync([first], CancellationToken.None);
        Assert.Equal((1, 2, 2, 0), await CountAsync(queue));
        await source.ReturnAsync([second], CancellationToken.None);
        await queue.DeadLetters.AddAsync([Letter("a"), Letter("b"), Letter("a")]);
        Assert.Equal((3, 2, 0, 2), await CountAsync(queue));

        // What a consumer that died had is suspect, and waits like any other item.
        WorkBatch<string> lost = await NextAsync(source);
        await ExecuteAsync($"UPDATE {Items} SET consumer = NULL, expired = 1 WHERE consumer IS NOT NULL");
        Assert.Equal((3, 2, 0, 2), await CountAsync(queue));
        Assert.NotEmpty(lost.Items);
    }

    [Fact(Timeout = Limit)]
    public async Task GetStatistics_QueueOfAnotherName_IsNotCounted()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await using var other = new PostgresWorkQueue<string>(Source, "other", WorkSerializer.Text, Options);
        await other.SetupAsync();
        await other.EnqueueAsync(Values(3));
        await other.DeadLetters.AddAsync([Letter("a")]);
        Assert.Equal((0, 0, 0, 0), await CountAsync(queue));
        Assert.Equal((3, 0, 0, 1), await CountAsync(other));
    }

    [Fact(Timeout = Limit)]
    public async Task GetStatistics_NotSetUp_SaysWhatToDo()
    {
        await using PostgresWorkQueue<string> queue = Queue();
        WorkSetupException e = await Assert.ThrowsAsync<WorkSetupException>(async () => await queue.GetStatisticsAsync());
        Assert.Contains("call SetupAsync once", e.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Gauges_SeveralAtOnce_TakeOneConnectionAfterTheOther()
    {
        await using PostgresWorkQueue<string> setup = await NewQueueAsync();
        var builder = new Npgsql.NpgsqlDataSourceBuilder(Server.ConnectionString);
        builder.ConnectionStringBuilder.MaxPoolSize = 1;

        // However long one of them is held up with the connection, the others wait for it.
        builder.ConnectionStringBuilder.Timeout = 0;
        await using Npgsql.NpgsqlDataSource single = builder.Build();
        await using var queue = new PostgresWorkQueue<string>(single, "work", WorkSerializer.Text, Options);
        WorkGaugeOptions often = new() { Interval = TimeSpan.FromMilliseconds(100), ReadingTimeout = TimeSpan.FromHours(1) };
        int readings = 0;
        List<Exception> faults = [];
        WorkGauges[] all =
        [
            .. Enumerable.Range(0, 3).Select(i => WorkGauges.Start(
                queue, often with { Name = $"single-{i}", OnReading = _ => Interlocked.Increment(ref readings), OnFault = faults.Add })),
        ];
        await Guard.UntilAsync(() => Volatile.Read(ref readings) >= 12, "the readings");
        foreach (WorkGauges gauges in all)
        {
            await gauges.DisposeAsync().WithinAsync("disposing");
        }

        Assert.Empty(faults);
    }

    private static DeadLetter Letter(string id) => new()
    {
        Id = id, Source = "work", Reason = DeadLetterReason.Failed, Error = "No.", Attempts = 1, Time = TimeProvider.System.GetUtcNow(), Payload = default,
    };

    private static async Task<(long?, long?, long?, long?)> CountAsync(PostgresWorkQueue<string> queue)
    {
        WorkStatistics now = await queue.GetStatisticsAsync();
        return (now.Waiting, now.Scheduled, now.InFlight, now.DeadLetters);
    }
}
