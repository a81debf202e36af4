using System.Threading.Tasks.Dataflow;
using Microsoft.Extensions.Hosting;
using Weir;
using Weir.Delivery;
using Weir.Hosting;
using Weir.Resilience;

namespace Dashboard;

using Weir.Dataflow;          // Inside the namespace, so that its blocks win over Microsoft's.

/// <summary>Something to look at: a crawler, an import with a hot key, blocks of which one is slow, a circuit that opens now and then, and orders that fail.</summary>
internal sealed class Work(IWorkQueue<string> orders) : BackgroundService
{
    private readonly CircuitBreaker _payments = new(new CircuitBreakerOptions { Name = "payments", FailureThreshold = 5, OpenTimeout = TimeSpan.FromSeconds(5) });
    private readonly SharedConcurrencyLimit _database = new(4) { Name = "database" };

    protected override Task ExecuteAsync(CancellationToken stop) =>
        Task.WhenAll(Crawl(stop), Import(stop), Scale(stop), Pay(stop), Order(stop));

    // A queue that grows as pages are found. Each page links to two others.
    private static async Task Crawl(CancellationToken stop)
    {
        WorkQueue<int> found = new();
        found.Add(1);
        await found.ForEachParallelAsync(
            async (page, token) =>
            {
                await Task.Delay(40, token);
                found.AddRange([(2 * page) % 1_000_003, ((2 * page) + 1) % 1_000_003]);
            },
            new ParallelRunOptions
            {
                OperationName = "crawl", MaxDegreeOfParallelism = 8, RateLimit = new() { TokensPerSecond = 100, BurstCapacity = 8 }, Control = new RunControl(),
            },
            stop);
    }

    // Nine of ten rows are of one customer, and rows of a customer go one after the other.
    private async Task Import(CancellationToken stop) => await Numbers(10_000_000).PartitionBy(static row => row % 10 == 0 ? row : 0).ForEachParallelAsync(
        static async (row, token) => await Task.Delay(5, token),
        new ParallelRunOptions { OperationName = "import", MaxDegreeOfParallelism = 8, ConcurrencyLimit = _database, Control = new RunControl() },
        stop);

    // Pictures: decoding and storing are quick, scaling is not.
    private static async Task Scale(CancellationToken stop)
    {
        ExecutionDataflowBlockOptions quick = new() { BoundedCapacity = 50, CancellationToken = stop, NameFormat = "decode" };
        TransformBlock<int, int> decode = new(static async picture => { await Task.Delay(2); return picture; }, quick);
        TransformBlock<int, int> scale = new(
            static async picture => { await Task.Delay(30); return picture; },
            new ExecutionDataflowBlockOptions { BoundedCapacity = 50, MaxDegreeOfParallelism = 2, CancellationToken = stop, NameFormat = "scale" });
        ActionBlock<int> store = new(static async _ => await Task.Delay(2), new ExecutionDataflowBlockOptions { BoundedCapacity = 50, CancellationToken = stop, NameFormat = "store" });
        decode.LinkTo(scale, new DataflowLinkOptions { PropagateCompletion = true });
        scale.LinkTo(store, new DataflowLinkOptions { PropagateCompletion = true });
        for (int picture = 0; await decode.SendAsync(picture, stop); picture++)
        {
        }
    }

    // The server of payments is down for ten seconds of each minute.
    private async Task Pay(CancellationToken stop) => await Numbers(10_000_000).ForEachParallelAsync(
        static async (payment, token) =>
        {
            await Task.Delay(20, token);
            if (TimeProvider.System.GetUtcNow().Second < 10)
            {
                throw new TimeoutException("The server of payments does not answer.");
            }
        },
        new ParallelRunOptions
        {
            OperationName = "payments",
            MaxDegreeOfParallelism = 4,
            ErrorMode = ErrorMode.BestEffort,
            OnErrorAsync = static (_, _) => new ValueTask<bool>(true),
            CircuitBreaker = _payments,
            OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen,
            Retry = new() { MaxRetries = 2 },
            Control = new RunControl(),
        },
        stop);

    // Some orders cannot be entered, and some have texts that want to be more than text.
    private async Task Order(CancellationToken stop)
    {
        await using IWorkSink<string> sink = await orders.OpenSinkAsync(stop);
        string[] odd = ["bad <script>alert(1)</script>", "bad \u202Egnitset", "bad order"];
        for (int number = 0; ; number++)
        {
            await sink.WriteAsync([WorkItem.Create(number % 20 == 0 ? $"{odd[number / 20 % odd.Length]} {number}" : $"order {number}")], position: null, stop);
            await Task.Delay(50, stop);
        }
    }

    private static async IAsyncEnumerable<int> Numbers(int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return i;
        }

        await Task.CompletedTask;
    }
}

/// <summary>Enters orders.</summary>
internal sealed class OrderProcessor : IWorkProcessor<string>
{
    public async ValueTask ProcessAsync(WorkItem<string> item, CancellationToken cancellationToken)
    {
        await Task.Delay(10, cancellationToken);
        if (item.Value.StartsWith("bad", StringComparison.Ordinal))
        {
            throw new FormatException($"The order '{item.Value}' cannot be entered.");
        }
    }
}
