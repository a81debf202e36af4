using Npgsql;
using Weir.Dataflow;
using Weir.Delivery;
using Weir.PostgreSql;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Walks;

/// <summary>What is walked through: the shortest program that does one thing whole, each in a process of its own.</summary>
internal static class Scenarios
{
    public static readonly Dictionary<string, Func<Task>> All = new(StringComparer.Ordinal)
    {
        ["list"] = ListAsync,
        ["retries"] = RetriesAsync,
        ["message"] = MessageAsync,
        ["queue"] = QueueAsync,
    };

    private const string Queue = "walk";

    private static string Connection =>
        Environment.GetEnvironmentVariable("WEIR_POSTGRES") ?? throw new InvalidOperationException("WEIR_POSTGRES has no connection string: eng/services starts a server.");

    /// <summary>What has to be there before, and is no part of the walk.</summary>
    public static async Task PrepareAsync(string name)
    {
        if (name == "queue")
        {
            await using NpgsqlDataSource database = NpgsqlDataSource.Create(Connection);
            await using PostgresWorkQueue<string> queue = new(database, Queue, WorkSerializer.Text);
            await queue.SetupAsync();
        }
    }

    /// <summary>A list of results: calls that end at once, and calls that suspend.</summary>
    private static async Task ListAsync()
    {
        List<int> results = await Enumerable.Range(0, 100).ToArray().SelectParallelAsync(
            static async (item, token) =>
            {
                if (item % 2 == 0)
                {
                    await Task.Delay(1, token);
                }

                return item;
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 4 });
        Check(results.Count == 100);
    }

    /// <summary>Items that are tried again, under a circuit breaker and a rate limit.</summary>
    private static async Task RetriesAsync()
    {
        int failures = 0;
        List<int> results = await Enumerable.Range(0, 20).ToArray().SelectParallelAsync(
            async (item, token) =>
            {
                await Task.Delay(1, token);
                return item % 5 == 0 && Interlocked.Increment(ref failures) <= 4 ? throw new TimeoutException() : item;
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 4,
                Retry = new RetryOptions { MaxRetries = 5, BaseDelay = TimeSpan.FromMilliseconds(1) },
                CircuitBreaker = new CircuitBreakerOptions(),
                RateLimit = new RateLimitOptions { TokensPerSecond = 1_000 },
            });
        Check(results.Count == 20 && failures >= 4);
    }

    /// <summary>A message that is posted to a block, and processed there.</summary>
    private static async Task MessageAsync()
    {
        int sum = 0;
        ActionBlock<int> block = new(message => sum += message);
        for (int i = 0; i < 100; i++)
        {
            Check(block.Post(1));
        }

        block.Complete();
        await block.Completion;
        Check(sum == 100);
    }

    /// <summary>An item of a queue in PostgreSQL: published, taken, processed by a host and acknowledged.</summary>
    private static async Task QueueAsync()
    {
        await using NpgsqlDataSource database = NpgsqlDataSource.Create(Connection);
        await using PostgresWorkQueue<string> queue = new(database, Queue, WorkSerializer.Text);
        await using (IWorkSink<string> sink = await queue.OpenSinkAsync())
        {
            await sink.WriteAsync(WorkItem.CreateMany(["one"]), position: null, default);
        }

        using CancellationTokenSource done = new();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using ConcurrentRuntime workers = new(concurrencyPerCall: 4);
        WorkHost<string> host = new(
            source,
            workers,
            async (item, token) =>
            {
                await Task.Delay(1, token);
                done.CancelAfter(TimeSpan.FromMilliseconds(300));
            },
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters });
        await host.RunAsync(done.Token);
        Check(host.Statistics.Succeeded == 1);
    }

    private static void Check(bool holds)
    {
        if (!holds)
        {
            throw new InvalidOperationException("The scenario did not do what it is walked for.");
        }
    }
}
