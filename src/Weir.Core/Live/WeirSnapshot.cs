using System.Text.Json;
using System.Text.Json.Serialization;

namespace Weir.Observability;

/// <summary>What is live in a process at one moment: all that its bars, pages and terminals show. See docs/reference/diagnostics.md.</summary>
/// <remarks>
/// The entries are read one after the other while work goes on, so their counts can differ by what happened in between. Those of ended work are not in it.
/// </remarks>
public sealed record WeirSnapshot
{
    /// <summary>The version of the JSON that this library writes.</summary>
    public const int CurrentVersion = 1;

    /// <summary>The version of the JSON. It grows when a field changes its meaning or goes, and not when one comes.</summary>
    public int Version { get; init; } = CurrentVersion;

    /// <summary>When it was taken.</summary>
    public required DateTimeOffset Time { get; init; }

    /// <summary>The number of the process.</summary>
    public required int ProcessId { get; init; }

    /// <summary>The name of the program.</summary>
    public required string ProcessName { get; init; }

    /// <summary>Whether a <see cref="LiveWatch"/> took it, so that rates and stages are known.</summary>
    public bool IsWatched { get; init; }

    /// <summary>What is live. Sorted by kind, then by age.</summary>
    public required IReadOnlyList<LiveEntry> Entries { get; init; }

    /// <summary>The snapshot as JSON, in UTF-8. Values that are null are left out.</summary>
    /// <returns>One object. Its fields are listed in docs/reference/diagnostics.md.</returns>
    public byte[] ToJson() => JsonSerializer.SerializeToUtf8Bytes(this, LiveJson.Default.WeirSnapshot);

    /// <summary>Reads what <see cref="ToJson"/> has written, in this process or another.</summary>
    /// <param name="json">The JSON, in UTF-8. Fields that are not known are ignored.</param>
    /// <returns>The snapshot.</returns>
    /// <exception cref="JsonException">It is no snapshot, or one of a version that this library does not know.</exception>
    public static WeirSnapshot FromJson(ReadOnlySpan<byte> json)
    {
        WeirSnapshot snapshot = JsonSerializer.Deserialize(json, LiveJson.Default.WeirSnapshot) ?? throw new JsonException("The JSON is null and no snapshot.");
        return snapshot.Version <= CurrentVersion
            ? snapshot
            : throw new JsonException($"The snapshot has version {snapshot.Version}, and this library knows versions up to {CurrentVersion}.");
    }
}

/// <summary>One thing that is live: a run, a runtime, a limit, a circuit breaker, a retry budget, a block, a network of blocks, a host or a queue.</summary>
/// <remarks>A value that its kind does not have, or that nobody knows, is <see langword="null"/>.</remarks>
public sealed record LiveEntry
{
    // Each look has one of these for all that is live, so no number has a flag beside it.
    private readonly MaybeNumber _done;
    private readonly MaybeNumber _failed;
    private readonly MaybeNumber _cancelled;
    private readonly MaybeNumber _retried;
    private readonly MaybeNumber _inFlight;
    private readonly MaybeNumber _waiting;
    private readonly MaybeNumber _output;
    private readonly MaybeNumber _limit;
    private readonly MaybeNumber _capacity;
    private readonly MaybeNumber _total;
    private readonly MaybeNumber _batches;
    private readonly MaybeNumber _opened;

    // What follows from several looks or entries. It is set before the snapshot leaves the library, so that no entry is copied for it.
    private string? _name;
    private DateTimeOffset? _since;
    private double? _rate;
    private double? _rate1s;
    private double? _rate1m;
    private DateTimeOffset? _estimatedEnd;
    private IReadOnlyList<LiveStage>? _stages;
    private LiveBottleneck? _bottleneck;

    /// <summary>What it is found by again, such as <c>run-17</c>. No other thing has it as long as the process lives.</summary>
    public required string Id { get; init; }

    /// <summary>What kind of thing it is.</summary>
    public required LiveKind Kind { get; init; }

    /// <summary>What it is more exactly: the method that was called, or the name of the class.</summary>
    public required string Type { get; init; }

    /// <summary>The name that its options give it.</summary>
    public string? Name
    {
        get => _name;
        init => _name = value;
    }

    /// <summary>What it is doing.</summary>
    public required LiveState State { get; init; }

    /// <summary>The entry that this one is a part of: the runtime of a run, or the network of a block.</summary>
    public string? Parent { get; init; }

    /// <summary>Since when it has been live: its start or creation, or the first message of a block.</summary>
    public DateTimeOffset? Since
    {
        get => _since;
        init => _since = value;
    }

    /// <summary>Items that have ended with a result. A batch counts as many as are in it.</summary>
    public long? Done
    {
        get => _done.Value;
        init => _done = new(value);
    }

    /// <summary>Items that failed or timed out.</summary>
    public long? Failed
    {
        get => _failed.Value;
        init => _failed = new(value);
    }

    /// <summary>Items that were cancelled or discarded.</summary>
    public long? Cancelled
    {
        get => _cancelled.Value;
        init => _cancelled = new(value);
    }

    /// <summary>Attempts after an item's first one.</summary>
    public long? Retried
    {
        get => _retried.Value;
        init => _retried = new(value);
    }

    /// <summary>Items inside their call; permits in use.</summary>
    public long? InFlight
    {
        get => _inFlight.Value;
        init => _inFlight = new(value);
    }

    /// <summary>What has come and waits: for its call, another attempt or a permit.</summary>
    public long? Waiting
    {
        get => _waiting.Value;
        init => _waiting = new(value);
    }

    /// <summary>For what the items wait that are between two attempts.</summary>
    public LiveWaits? Waits { get; init; }

    /// <summary>Results that nobody has taken.</summary>
    public long? Output
    {
        get => _output.Value;
        init => _output = new(value);
    }

    /// <summary>How many may be in flight at once; of a rate limit, nothing.</summary>
    public long? Limit
    {
        get => _limit.Value;
        init => _limit = new(value);
    }

    /// <summary>How many messages a bounded block takes at most.</summary>
    public long? Capacity
    {
        get => _capacity.Value;
        init => _capacity = new(value);
    }

    /// <summary>How many items there are in all, if that is known.</summary>
    public long? Total
    {
        get => _total.Value;
        init => _total = new(value);
    }

    /// <summary>Batches that have ended; of what has batches.</summary>
    public long? Batches
    {
        get => _batches.Value;
        init => _batches = new(value);
    }

    /// <summary>Items that have ended, per second since the start.</summary>
    public double? Rate
    {
        get => _rate;
        init => _rate = value;
    }

    /// <summary>Items that ended in the last second, per second. Only of a <see cref="LiveWatch"/>.</summary>
    public double? Rate1s
    {
        get => _rate1s;
        init => _rate1s = value;
    }

    /// <summary>Items that ended in the last minute, or since the watch began if that is less, per second. Only of a <see cref="LiveWatch"/>.</summary>
    public double? Rate1m
    {
        get => _rate1m;
        init => _rate1m = value;
    }

    /// <summary>When all items will have ended, at the rate of the last minute or, without a watch, at the average.</summary>
    public DateTimeOffset? EstimatedEnd
    {
        get => _estimatedEnd;
        init => _estimatedEnd = value;
    }

    /// <summary>The last failure.</summary>
    public LiveError? LastError { get; init; }

    /// <summary>The circuit breakers in it by state: of breakers by key, and of a run that has some of its own.</summary>
    public LiveCircuits? Circuits { get; init; }

    /// <summary>How often a circuit has opened since it was created, also between two looks; of breakers by key, those of the keys that are known now.</summary>
    public long? Opened
    {
        get => _opened.Value;
        init => _opened = new(value);
    }

    /// <summary>What a retry budget has left, or those of all keys together.</summary>
    public LiveBudget? Budget { get; init; }

    /// <summary>What waits in a queue, in all processes.</summary>
    public LiveQueue? Queue { get; init; }

    /// <summary>The blocks that it feeds, by their ids.</summary>
    public IReadOnlyList<string>? Feeds { get; init; }

    /// <summary>How the time of its stages divides. Only of a <see cref="LiveWatch"/>, for runs and networks.</summary>
    public IReadOnlyList<LiveStage>? Stages
    {
        get => _stages;
        init => _stages = value;
    }

    /// <summary>The stage that limits all others. Only of a <see cref="LiveWatch"/>; <see langword="null"/> if none does.</summary>
    public LiveBottleneck? Bottleneck
    {
        get => _bottleneck;
        init => _bottleneck = value;
    }

    /// <summary>What can be done with it, through <see cref="WeirDiagnostics.Find{T}"/>.</summary>
    public IReadOnlyList<LiveAction> Actions { get; init; } = [];

    /// <summary>Items that have ended in any way, in percent of <see cref="Total"/>.</summary>
    /// <value>From 0 to 100; <see langword="null"/> if the total is not known.</value>
    public double? Percent => Total switch
    {
        null => null,
        <= 0 => 100,
        { } total => Math.Min(100, 100.0 * Ended / total),
    };

    [JsonIgnore]
    internal long Ended => (Done ?? 0) + (Failed ?? 0) + (Cancelled ?? 0);

    internal void SetRates(double? rate, double? rate1s, double? rate1m, DateTimeOffset? estimatedEnd) =>
        (_rate, _rate1s, _rate1m, _estimatedEnd) = (rate, rate1s, rate1m, estimatedEnd);

    internal void SetOrigin(string? name, DateTimeOffset? since) => (_name, _since) = (name, since);

    internal void SetStages(IReadOnlyList<LiveStage> stages, LiveBottleneck? bottleneck) => (_stages, _bottleneck) = (stages, bottleneck);
}

/// <summary>What kind of thing is live.</summary>
[JsonConverter(typeof(LiveJson.Names<LiveKind>))]
public enum LiveKind
{
    /// <summary>A run of an operator, or a call of a runtime.</summary>
    Run,

    /// <summary>A runtime that was not disposed.</summary>
    Runtime,

    /// <summary>A shared concurrency limit, or limits by key.</summary>
    Limit,

    /// <summary>A shared rate limit, or rate limits by key.</summary>
    RateLimit,

    /// <summary>A shared circuit breaker, or circuit breakers by key.</summary>
    Breaker,

    /// <summary>A retry budget, or retry budgets by key.</summary>
    RetryBudget,

    /// <summary>Blocks that are linked with each other.</summary>
    Network,

    /// <summary>A block that has had a message and is not complete, or is linked with one.</summary>
    Block,

    /// <summary>A host of workers over a queue.</summary>
    Host,

    /// <summary>A queue or a change stream.</summary>
    Queue,
}

/// <summary>What a live thing is doing.</summary>
[JsonConverter(typeof(LiveJson.Names<LiveState>))]
public enum LiveState
{
    /// <summary>It works, or waits for work.</summary>
    Running,

    /// <summary>It has nothing to do.</summary>
    Idle,

    /// <summary>No item begins until it is resumed.</summary>
    Paused,

    /// <summary>What has begun ends, and nothing else begins.</summary>
    Stopping,

    /// <summary>It has ended.</summary>
    Stopped,

    /// <summary>It has failed: of a queue, its last reading.</summary>
    Failed,

    /// <summary>A circuit that lets calls through.</summary>
    Closed,

    /// <summary>A circuit that lets single calls through, to see whether it may close.</summary>
    HalfOpen,

    /// <summary>A circuit that lets no call through.</summary>
    Open,

    /// <summary>A circuit that stays open until it is closed by hand.</summary>
    Isolated,
}

/// <summary>What can be done with a live thing, and with what <see cref="WeirDiagnostics.Find{T}"/> returns for it.</summary>
[JsonConverter(typeof(LiveJson.Names<LiveAction>))]
public enum LiveAction
{
    /// <summary>Of a run or host with a control: <see cref="RunControl.Pause"/>.</summary>
    Pause,

    /// <summary>Of a run or host with a control: <see cref="RunControl.Resume"/>.</summary>
    Resume,

    /// <summary>Of a run with a control: <see cref="RunControl.Stop"/>.</summary>
    Stop,

    /// <summary>Of a run with a control: <see cref="RunControl.MaxDegreeOfParallelism"/>. Of a shared concurrency limit: its <c>Limit</c>.</summary>
    SetLimit,

    /// <summary>Of a circuit breaker: its <c>Open</c> or <c>Isolate</c>.</summary>
    Open,

    /// <summary>Of a circuit breaker: its <c>Close</c>.</summary>
    Close,

    /// <summary>Of a queue or host: its dead letters can be listed, replayed and removed, as <c>IDeadLetters</c>.</summary>
    DeadLetters,

    /// <summary>Of a queue: its items can be listed, found and cancelled, as <c>IQueuedItems</c>.</summary>
    Items,
}

/// <summary>How many items wait between two attempts, by what they wait for.</summary>
/// <param name="Retry">For the delay before their next attempt.</param>
/// <param name="CircuitBreaker">For an open circuit.</param>
/// <param name="ConcurrencyLimit">For a permit of a shared concurrency limit.</param>
/// <param name="RateLimit">For a rate limit.</param>
public sealed record LiveWaits(long Retry, long CircuitBreaker, long ConcurrencyLimit, long RateLimit);

/// <summary>How many circuit breakers are in each state.</summary>
/// <param name="Closed">Those that let calls through.</param>
/// <param name="HalfOpen">Those that let single calls through.</param>
/// <param name="Open">Those that let none through.</param>
public sealed record LiveCircuits(int Closed, int HalfOpen, int Open);

/// <summary>What a retry budget has left. Of budgets by key, those of the keys that are known now together.</summary>
/// <param name="Balance">How many retries the calls have paid for that have not been made; without those that are allowed each second in any case.</param>
/// <param name="Refused">How many retries were not made, because there was too little for them.</param>
/// <param name="Ratio">How many retries may be made for each call.</param>
/// <param name="MinPerSecond">How many retries may be made in a second in any case; of budgets by key, for each.</param>
/// <param name="Keys">How many keys are known; <see langword="null"/> of a single budget.</param>
public sealed record LiveBudget(double Balance, long Refused, double Ratio, int MinPerSecond, int? Keys = null);

/// <summary>A failure, as text.</summary>
public sealed record LiveError
{
    /// <summary>The longest <see cref="Message"/>, in characters.</summary>
    public const int LongestMessage = 300;

    /// <summary>The full name of the exception's type.</summary>
    public required string Type { get; init; }

    /// <summary>What the exception says, at most <see cref="LongestMessage"/> characters of it.</summary>
    public required string Message { get; init; }

    internal static LiveError? Of(Exception? error) => error is null ? null : new LiveError
    {
        Type = error.GetType().FullName ?? error.GetType().Name,
        Message = Shortened(SafeMessage(error)),
    };

    // A message may be the user's code.
    private static string SafeMessage(Exception error)
    {
        try
        {
            return error.Message ?? "";
        }
        catch (Exception)
        {
            return "";
        }
    }

    private static string Shortened(string text) => text.Length <= LongestMessage ? text : string.Concat(text.AsSpan(0, LongestMessage - 1), "…");
}

/// <summary>What waits in a queue, in all processes, as its server said last.</summary>
public sealed record LiveQueue
{
    /// <summary>Items that could be taken and that nobody has.</summary>
    public long? Backlog { get; init; }

    /// <summary>Items that wait for their time.</summary>
    public long? Scheduled { get; init; }

    /// <summary>Items that consumers have and did not acknowledge.</summary>
    public long? InFlight { get; init; }

    /// <summary>Dead letters. Of a host, those that it has made.</summary>
    public long? DeadLetters { get; init; }

    /// <summary>For how long the next item could have been taken, in seconds.</summary>
    public double? OldestSeconds { get; init; }
}

/// <summary>How the time of a stage divides, as shares of 1 that together are 1: the stages of a run, or the blocks of a network.</summary>
public sealed record LiveStage
{
    /// <summary>The name: <c>source</c>, <c>work</c> or <c>consumer</c> of a run; of a block its name, or its type.</summary>
    public required string Name { get; init; }

    /// <summary>The id of the block; <see langword="null"/> for a stage of a run.</summary>
    public string? Id { get; init; }

    /// <summary>The share in which its workers work.</summary>
    public required double Busy { get; init; }

    /// <summary>The share in which they have nothing to do.</summary>
    public required double Idle { get; init; }

    /// <summary>The share in which they cannot hand on what they have.</summary>
    public required double Blocked { get; init; }

    /// <summary>How many workers it may have.</summary>
    public required long Workers { get; init; }
}

/// <summary>What limits a run or a network.</summary>
public sealed record LiveBottleneck
{
    /// <summary>The name of the stage, as in <see cref="LiveStage.Name"/>.</summary>
    public required string Stage { get; init; }

    /// <summary>The id of the block; <see langword="null"/> for a stage of a run.</summary>
    public string? Id { get; init; }

    /// <summary>Why.</summary>
    public required LiveReason Reason { get; init; }

    /// <summary>By how much one more worker here raises the throughput at most, as a share; <see langword="null"/> where more workers are of no use.</summary>
    public double? Gain { get; init; }

    /// <summary>All of it, as a sentence.</summary>
    public required string Sentence { get; init; }
}

/// <summary>Why a stage limits the others.</summary>
[JsonConverter(typeof(LiveJson.Names<LiveReason>))]
public enum LiveReason
{
    /// <summary>Its calls take the time of all its workers.</summary>
    SlowStage,

    /// <summary>It takes fewer messages than its workers need to be busy.</summary>
    SmallBound,

    /// <summary>Most items have one key, and go one after the other.</summary>
    HotKey,

    /// <summary>Work waits for threads of the pool.</summary>
    StarvedPool,

    /// <summary>Its workers hold threads that use no processor: they wait inside their calls, as for a lock.</summary>
    Waiting,

    /// <summary>Items come too slowly.</summary>
    SlowSource,

    /// <summary>Results are taken too slowly.</summary>
    SlowConsumer,

    /// <summary>Items wait for a permit of a limit, a rate or a circuit that they share with others.</summary>
    Policy,
}

/// <summary>What was at earlier times, of one entry.</summary>
public sealed record LiveHistory
{
    /// <summary>The <see cref="LiveEntry.Id"/>.</summary>
    public required string Id { get; init; }

    /// <summary>The points, from the oldest to the newest.</summary>
    public required IReadOnlyList<LivePoint> Points { get; init; }

    /// <summary>The history as JSON, in UTF-8. Values that are null are left out.</summary>
    /// <returns>One object.</returns>
    public byte[] ToJson() => JsonSerializer.SerializeToUtf8Bytes(this, LiveJson.Default.LiveHistory);
}

/// <summary>One point of a <see cref="LiveHistory"/>.</summary>
public sealed record LivePoint
{
    // Each point of an hour is kept, so none has a flag beside its value.
    private readonly double _rate = double.NaN;
    private readonly MaybeNumber _limit;
    private readonly MaybeNumber _inFlight;
    private readonly MaybeNumber _waiting;
    private readonly MaybeNumber _failed;
    private readonly MaybeNumber _opened;

    /// <summary>When it was.</summary>
    public required DateTimeOffset Time { get; init; }

    /// <summary><see cref="LiveEntry.State"/>.</summary>
    public required LiveState State { get; init; }

    /// <summary><see cref="LiveEntry.Rate1s"/>.</summary>
    public double? Rate
    {
        get => double.IsNaN(_rate) ? null : _rate;
        init => _rate = value ?? double.NaN;
    }

    /// <summary><see cref="LiveEntry.Limit"/>.</summary>
    public long? Limit
    {
        get => _limit.Value;
        init => _limit = new(value);
    }

    /// <summary><see cref="LiveEntry.InFlight"/>.</summary>
    public long? InFlight
    {
        get => _inFlight.Value;
        init => _inFlight = new(value);
    }

    /// <summary><see cref="LiveEntry.Waiting"/>; of a queue, its backlog.</summary>
    public long? Waiting
    {
        get => _waiting.Value;
        init => _waiting = new(value);
    }

    /// <summary><see cref="LiveEntry.Failed"/>.</summary>
    public long? Failed
    {
        get => _failed.Value;
        init => _failed = new(value);
    }

    /// <summary><see cref="LiveEntry.Opened"/>.</summary>
    public long? Opened
    {
        get => _opened.Value;
        init => _opened = new(value);
    }
}

/// <summary>A number that nobody may know, in the size of a number: the least one stands for it, and by default nobody knows it.</summary>
internal readonly record struct MaybeNumber
{
    private readonly long _distance;

    public MaybeNumber(long? value) => _distance = (value ?? long.MinValue) ^ long.MinValue;

    public long? Value => _distance == 0 ? null : _distance ^ long.MinValue;
}

/// <summary>The JSON of what is live. Written at compile time, so that it works in trimmed and native programs.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
[JsonSerializable(typeof(WeirSnapshot))]
[JsonSerializable(typeof(LiveHistory))]
internal sealed partial class LiveJson : JsonSerializerContext
{
    /// <summary>The values of an enumeration as words such as halfOpen.</summary>
    internal sealed class Names<T>() : JsonStringEnumConverter<T>(JsonNamingPolicy.CamelCase, allowIntegerValues: false)
        where T : struct, Enum;
}
