using Weir.Tables.Servers.Broker;

namespace Weir.Tables.Servers;

/// <summary>What the queue in RabbitMQ costs beside RabbitMQ.Client alone, what each safety costs, and what memory it needs.</summary>
internal sealed class BrokerFigures : IFigures
{
    private const string Bare = "RabbitMQ.Client";
    private const string Own = "Weir";
    private const string Whole = "all of it";
    private const string Classic = "a classic queue";
    private const double LeastShare = 0.7;
    private const int ItemBytes = 100;
    private const int Batch = 256;

    // What Weir adds to the value of an item that is alone, and to 256 of them, so the bare client sends as many bytes.
    private const int SingleBytes = ItemBytes + 43;
    private const int BatchBytes = (ItemBytes + 2) * Batch;

    private readonly TextOption _messages = TextOption.Of("--messages", null, "N", "How many messages a run has. Default 20,000");
    private readonly TextOption _millions =
        TextOption.Of("--millions", null, "N", "How many million items go through while the memory is watched; 0 for none. Default 10");

    public string Name => "broker";

    public string Description => "Measures the queue in RabbitMQ against RabbitMQ.Client alone, in turns, and what each safety costs.";

    public TextOption Server { get; } =
        TextOption.Of("--rabbitmq", "WEIR_RABBITMQ", "ADDRESS", "The broker, such as eng/services starts one; a user who may declare queues");

    public int UsualRounds => 9;

    public IReadOnlyList<TextOption> Options => [_messages, _millions];

    public string Page => "rabbitmq";

    public string Title => "the queue in RabbitMQ";

    public IReadOnlyList<PageSection> Sections { get; } =
    [
        new(
            "whole",
            "The whole way",
            Invariant(
                $"""
                **Goal:** at least {LeastShare} of RabbitMQ.Client alone.

                From a sink to a `WorkHost` on a `ConcurrentRuntime`, with all default options, but for the items a message. A run lasts from the first
                publish to the end of the host, which has acknowledged everything by then. RabbitMQ.Client has a prefetch of {BareQueue.Prefetch} and
                acknowledges {BareQueue.AckEvery} at once. It writes and reads each item, with its length, but retries nothing, and knows no identities of
                items and no dead letters.
                """)),
        new(
            "throughput",
            "Throughput",
            Invariant(
                $"""
                **Goal:** at least {LeastShare} of RabbitMQ.Client alone.

                [The queue](../reference/rabbitmq.md) says what it does. A run lasts from the first publish to the last acknowledgement and confirm. Both have the same
                quorum queue, a window of {BareQueue.Window} unconfirmed messages, a prefetch of {BareQueue.Prefetch}, and acknowledge {BareQueue.AckEvery} at
                once. The messages are persistent and mandatory and have identities. Values have {ItemBytes} bytes, and both write and read each of them.
                """)),
        new("safety", "What each safety costs", "RabbitMQ.Client alone, a small message at a time. The last column says how much faster it is without."),
        new(
            "memory",
            "Memory",
            """
            The process that publishes and consumes, 256 items a message, after each million items. The heap is what a full collection leaves.
            """),
    ];

    public async Task<string> MeasureAsync(string section, FigureOrder order, CancellationToken stop)
    {
        int messages = order.Find(_messages)?.WholeNumber(1, 1_000_000) ?? 20_000;
        int millions = order.Find(_millions)?.WholeNumber(0, 1000) ?? 10;
        Uri broker = RabbitEngine.Broker(order.Server);
        await using BrokerQueues queues = await BrokerQueues.CreateAsync(broker, stop);
        BareQueue bare = new() { Broker = broker, Queue = queues.Single.Name, BodyBytes = SingleBytes };
        FigureTurns turns = new(order.Progress);
        return section switch
        {
            "whole" => await WholeAsync(queues, bare, turns, messages, order.Rounds, stop),
            "throughput" => await ThroughputAsync(queues, bare, turns, messages, order.Rounds, stop),
            "safety" => await SafetyAsync(bare, bare with { Queue = queues.Classic }, turns, messages, order.Rounds, stop),
            _ => await MemoryAsync(new WeirQueue(queues.Batched, ItemBytes), millions),
        };
    }

    private static Task<string> WholeAsync(BrokerQueues queues, BareQueue bare, FigureTurns turns, int messages, int rounds, CancellationToken stop) =>
        BesideBareAsync(
            bare with { Queue = queues.UsualSingle.Name },
            bare with { Queue = queues.Usual.Name, BodyBytes = BatchBytes, Items = Batch, ItemBytes = ItemBytes },
            items => new WeirQueue(queues.UsualSingle, ItemBytes).RunToHostAsync(items, stop),
            items => new WeirQueue(queues.Usual, ItemBytes).RunToHostAsync(items, stop),
            turns,
            messages,
            rounds,
            stop);

    private static Task<string> ThroughputAsync(BrokerQueues queues, BareQueue bare, FigureTurns turns, int messages, int rounds, CancellationToken stop) =>
        BesideBareAsync(
            bare,
            bare with { Queue = queues.Batched.Name, BodyBytes = BatchBytes, Items = Batch, ItemBytes = ItemBytes },
            items => new WeirQueue(queues.Single, ItemBytes).RunAsync(items),
            items => new WeirQueue(queues.Batched, ItemBytes).RunAsync(items),
            turns,
            messages,
            rounds,
            stop);

    private static async Task<string> BesideBareAsync(
        BareQueue bareSingle,
        BareQueue bareBatch,
        Func<long, Task<TimeSpan>> single,
        Func<long, Task<TimeSpan>> batched,
        FigureTurns turns,
        int messages,
        int rounds,
        CancellationToken stop)
    {
        const string Single = "1 item a message";
        const string Many = "256 items a message";
        int large = Math.Max(1, messages / 5);
        long items = (long)large * Batch;
        await turns.RunAsync(
            [
                (Bare, () => OneAsync(Single, messages, bareSingle.RunAsync(messages))),
                (Own, () => OneAsync(Single, messages, single(messages))),
                (Bare, () => OneAsync(Many, items, bareBatch.RunAsync(large))),
                (Own, () => OneAsync(Many, items, batched(items))),
            ],
            rounds,
            stop);
        return turns.Table(Bare, $"share of {Bare}") + "\n" + string.Join('\n', turns.Works.Select(work => turns.Goal(work, Own, Bare, LeastShare, Bare)));
    }

    private static async Task<string> SafetyAsync(BareQueue bare, BareQueue classic, FigureTurns turns, int messages, int rounds, CancellationToken stop)
    {
        const string Quorum = "a quorum queue";
        (string Work, string Arm, BareQueue Queue)[] arms =
        [
            (Quorum, Whole, bare),
            (Quorum, "without confirms", bare with { Confirms = false }),
            (Quorum, "without mandatory", bare with { Mandatory = false }),
            (Quorum, "without identities", bare with { Identities = false }),
            (Classic, Whole, classic),
            (Classic, "not persistent", classic with { Persistent = false }),
        ];
        await turns.RunAsync(
            [.. arms.Select(arm => (arm.Arm, (Func<Task<IReadOnlyList<Pass>>>)(() => OneAsync(arm.Work, messages, arm.Queue.RunAsync(messages)))))],
            rounds,
            stop);
        return turns.Table(Whole, $"compared with {Whole}");
    }

    private static async Task<string> MemoryAsync(WeirQueue queue, int millions)
    {
        const long Million = 1_000_000;
        StringBuilder table = new("| items | heap, MB | process, MB |\n|---:|---:|---:|\n");
        long next = Million;
        using Process process = Process.GetCurrentProcess();
        await queue.RunAsync(millions * Million, got =>
        {
            if (got >= next)
            {
                process.Refresh();
                table.Append(Invariant($"| {next:N0} | {GC.GetTotalMemory(forceFullCollection: true) / 1e6:0.0} | {process.WorkingSet64 / 1e6:0} |\n"));
                next += Million;
            }
        });
        return table.ToString();
    }

    // Each queue counts what arrives, and ends with the last item.
    private static async Task<IReadOnlyList<Pass>> OneAsync(string work, long items, Task<TimeSpan> run) => [new Pass(work, items, await run, items)];
}
