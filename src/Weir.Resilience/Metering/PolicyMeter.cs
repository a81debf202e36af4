using System.Diagnostics.Metrics;
using System.Runtime.CompilerServices;
using Weir.Core.Live;
using Weir.Core.Metering;
using Weir.Observability;

namespace Weir.Resilience;

/// <summary>
/// The instruments of single calls and of the policies that calls share. The state of policies is read when a listener asks; only what becomes of calls is
/// counted as it occurs, by calls that ended while somebody listened.
/// </summary>
internal static class PolicyMeter
{
    private const string CircuitState = "weir.circuit_breaker.state";
    private const string WaitFor = "weir.wait.for";

    private static readonly Meter Meter = new(DiagnosticNames.Library, typeof(PolicyMeter).Assembly.GetName().Version?.ToString(3));

    // What was counted under each name, so that it is 0 rather than absent when its policies have gone. Guarded by the lock, as no user code runs here.
    private static readonly Lock Lock = new();
    private static readonly Dictionary<Series, PolicyCounts> Seen = [];

    // Null if a listener threw when it was notified of the instrument.
    private static readonly Counter<long>? Calls = SafeCall.Try(static () => Meter.CreateCounter<long>(
        "weir.policy.calls", "{call}", "Calls through a policy chain that have ended."));

    private static readonly Counter<long>? Retries = SafeCall.Try(static () => Meter.CreateCounter<long>(
        "weir.policy.retries", "{attempt}", "Attempts of such calls after the first."));

    private static readonly Counter<long>? RefusedRetries = SafeCall.Try(static () => Meter.CreateCounter<long>(
        "weir.policy.refused_retries", "{attempt}", "Attempts that were not made, because a retry budget was empty."));

    private static readonly Counter<long>? Rejections = SafeCall.Try(static () => Meter.CreateCounter<long>(
        "weir.policy.rejections", "{call}", "Calls and items that were refused instead of waiting."));

    private static readonly Counter<long>? Fallbacks = SafeCall.Try(static () => Meter.CreateCounter<long>(
        "weir.policy.fallbacks", "{call}", "Such calls whose result is that of the fallback."));

    private static readonly Instrument?[] States =
    [
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.policy.circuit_breakers", MeasureCircuits, "{circuit_breaker}", "Shared circuit breakers and those by key, by state.")),
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.policy.in_use", static () => Measure(static c => c.InUse), "{call}", "permits of shared concurrency limits that are in use.")),
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.policy.limit", static () => Measure(static c => c.Limit), "{call}", "Permits that shared concurrency limits have.")),
        SafeCall.Try(static () => Meter.CreateObservableUpDownCounter(
            "weir.policy.waiting", MeasureWaiting, "{call}", "Calls and items that wait at shared concurrency limits and rate limits.")),
    ];

    /// <summary>Whether somebody counts calls. The first use of this class creates the instruments.</summary>
    public static bool CountsCalls =>
        States.Length > 0
        && (Calls is { Enabled: true } || Retries is { Enabled: true } || RefusedRetries is { Enabled: true } || Rejections is { Enabled: true }
            || Fallbacks is { Enabled: true });

    /// <summary>A call has ended.</summary>
    public static void Ended(KeyValuePair<string, object?>? name, string outcome, Exception? error) =>
        Add(Calls, name, error, new KeyValuePair<string, object?>(DiagnosticNames.Outcome, outcome));

    /// <summary>A call is made again.</summary>
    /// <param name="name">The attribute of the chain's name.</param>
    /// <param name="error">Why; null if its result was refused.</param>
    public static void Retried(KeyValuePair<string, object?>? name, Exception? error) => Add(Retries, name, error, null);

    /// <summary>A call was not made again, because its budget was empty.</summary>
    /// <param name="name">The attribute of the budget's name.</param>
    public static void RetryRefused(KeyValuePair<string, object?>? name) => Add(RefusedRetries, name, null, null);

    /// <summary>A policy refused a call that would have had to wait.</summary>
    public static void Rejected(IMeteredPolicy policy, string waitFor, RejectionReason reason)
    {
        Add(Rejections, PolicyNames.TagOf(policy.Name), null, new(WaitFor, waitFor), new("weir.rejection.reason", reason switch
        {
            RejectionReason.QueueFull => "queue_full",
            RejectionReason.Deadline => "deadline",
            RejectionReason.Priority => "priority",
            _ => "newest_first",
        }));
    }

    /// <summary>A fallback gave the result of a call.</summary>
    public static void FellBack(KeyValuePair<string, object?>? name, Exception error) => Add(Fallbacks, name, error, null);

    private static void Add(
        Counter<long>? counter,
        KeyValuePair<string, object?>? name,
        Exception? error,
        KeyValuePair<string, object?>? more,
        KeyValuePair<string, object?>? last = null)
    {
        try
        {
            if (counter is not { Enabled: true })
            {
                return;
            }

            System.Diagnostics.TagList tags = default;
            Add(ref tags, name);
            Add(ref tags, more);
            Add(ref tags, last);
            if (error is not null)
            {
                tags.Add(DiagnosticNames.ErrorType, error.GetType().FullName);
            }

            counter.Add(1, tags);
        }
        catch (Exception)
        {
            // A listener is user code, and must not change the outcome of a call.
        }
    }

    private static void Add(ref System.Diagnostics.TagList tags, KeyValuePair<string, object?>? tag)
    {
        if (tag is { } some)
        {
            tags.Add(some);
        }
    }

    private static List<Measurement<long>> MeasureCircuits() =>
    [
        .. Measure(static c => c.Closed, new(CircuitState, "closed")),
        .. Measure(static c => c.Open, new(CircuitState, "open")),
        .. Measure(static c => c.HalfOpen, new(CircuitState, "half_open")),
    ];

    private static List<Measurement<long>> MeasureWaiting() =>
    [
        .. Measure(static c => c.AtLimits, new(WaitFor, "concurrency_limit")),
        .. Measure(static c => c.AtRate, new(WaitFor, "rate_limit")),
    ];

    private static List<Measurement<long>> Measure(Func<PolicyCounts, long?> read, KeyValuePair<string, object?>? more = null)
    {
        List<Measurement<long>> measurements = [];
        foreach ((Series series, PolicyCounts counts) in Count())
        {
            if (read(counts) is not { } value)
            {
                continue;
            }

            List<KeyValuePair<string, object?>> tags = [];
            if (series.Name is { } name)
            {
                tags.Add(name);
            }

            if (more is { } extra)
            {
                tags.Add(extra);
            }

            measurements.Add(new Measurement<long>(value, tags));
        }

        return measurements;
    }

    private static Dictionary<Series, PolicyCounts> Count()
    {
        Dictionary<Series, PolicyCounts> sums = [];
        foreach (IMeteredPolicy policy in PolicyRegistry.Alive())
        {
            Series series = new(PolicyNames.TagOf(policy.Name));
            if (!sums.TryGetValue(series, out PolicyCounts? sum))
            {
                sums[series] = sum = new PolicyCounts();
            }

            policy.AddTo(sum);
        }

        lock (Lock)
        {
            foreach ((Series series, PolicyCounts sum) in sums)
            {
                if (!Seen.TryGetValue(series, out PolicyCounts? seen))
                {
                    Seen[series] = seen = new PolicyCounts();
                }

                seen.AddKindsOf(sum);
            }

            foreach ((Series series, PolicyCounts seen) in Seen)
            {
                if (!sums.TryGetValue(series, out PolicyCounts? sum))
                {
                    sums[series] = sum = new PolicyCounts();
                }

                sum.AddKindsOf(seen);
            }
        }

        return sums;
    }

    /// <summary>What is counted together: the policies of one name, or those without one.</summary>
    private readonly record struct Series(KeyValuePair<string, object?>? Name);
}

/// <summary>
/// The policies of the process that calls share, from their creation until nobody has them any more. Weak: to be counted keeps none of them, and nothing that
/// they know, in memory. A policy that belongs to one run is counted with its run instead.
/// </summary>
internal static class PolicyRegistry
{
    private static readonly WeakList<IMeteredPolicy> Known = new(static list => new LivePolicies(list));

    public static void Add(IMeteredPolicy policy)
    {
        Known.Add(policy);
        PolicyListeners.Look();
    }

    /// <summary>Those that are still there. They are read without the lock, because they have locks of their own.</summary>
    public static IEnumerable<IMeteredPolicy> Alive() => Known.Alive().Select(static known => known.Item);
}

/// <summary>Reads the policies for snapshots.</summary>
internal sealed class LivePolicies(WeakList<IMeteredPolicy> policies) : LiveSource
{
    public override void Read(LiveReading reading)
    {
        foreach ((IMeteredPolicy policy, long since) in policies.Alive())
        {
            LiveEntry entry = policy.Show();
            entry.SetOrigin(policy.Name, reading.At(TimeProvider.System, since));
            reading.Entries.Add(entry);
        }
    }

    protected override IEnumerable<object> Targets() => policies.Alive().Select(static known => known.Item);
}

/// <summary>What the policies of one name are doing. Null where no policy of the name is of the kind.</summary>
internal sealed class PolicyCounts
{
    public int? Closed { get; private set; }

    public int? Open { get; private set; }

    public int? HalfOpen { get; private set; }

    /// <summary>The permits that calls hold.</summary>
    public long? InUse { get; private set; }

    /// <summary>The permits that there are.</summary>
    public long? Limit { get; private set; }

    /// <summary>The calls that wait for a permit.</summary>
    public long? AtLimits { get; private set; }

    /// <summary>The calls that wait for tokens.</summary>
    public long? AtRate { get; private set; }

    public void AddCircuits(int closed, int open, int halfOpen)
    {
        Closed = (Closed ?? 0) + closed;
        Open = (Open ?? 0) + open;
        HalfOpen = (HalfOpen ?? 0) + halfOpen;
    }

    public void AddPermits(long inUse, long limit, long waiting)
    {
        InUse = (InUse ?? 0) + inUse;
        Limit = (Limit ?? 0) + limit;
        AtLimits = (AtLimits ?? 0) + waiting;
    }

    public void AddRate(long waiting) => AtRate = (AtRate ?? 0) + waiting;

    /// <summary>What a snapshot has of limits that have these permits.</summary>
    public LiveEntry Permits(IMeteredPolicy limits, string type) => new()
    {
        Id = LiveIds.Of(LiveKind.Limit, limits),
        Kind = LiveKind.Limit,
        Type = type,
        State = InUse + AtLimits > 0 ? LiveState.Running : LiveState.Idle,
        InFlight = InUse ?? 0,
        Limit = Limit ?? 0,
        Waiting = AtLimits ?? 0,
    };

    /// <summary>What a snapshot has of rate limits at which calls wait.</summary>
    public static LiveEntry Rate(IMeteredPolicy limits, string type, int waiting) => new()
    {
        Id = LiveIds.Of(LiveKind.RateLimit, limits),
        Kind = LiveKind.RateLimit,
        Type = type,
        State = waiting > 0 ? LiveState.Running : LiveState.Idle,
        Waiting = waiting,
    };

    /// <summary>What a snapshot has of retry budgets.</summary>
    public static LiveEntry Budget(IMeteredPolicy budgets, string type, LiveBudget budget) => new()
    {
        Id = LiveIds.Of(LiveKind.RetryBudget, budgets),
        Kind = LiveKind.RetryBudget,
        Type = type,
        State = LiveState.Running,
        Budget = budget,
    };

    /// <summary>Counts nothing of each kind that another one has, so that what has gone is 0 rather than absent.</summary>
    public void AddKindsOf(PolicyCounts other)
    {
        if (other.Closed is not null)
        {
            AddCircuits(0, 0, 0);
        }

        if (other.Limit is not null)
        {
            AddPermits(0, 0, 0);
        }

        if (other.AtRate is not null)
        {
            AddRate(0);
        }
    }
}

/// <summary>The attribute by which listeners tell policies apart.</summary>
/// <remarks>
/// The number of names is bounded, because each is a time series that listeners keep. There is none for the keys of policies by key, which are as many as the
/// users' data.
/// </remarks>
internal static class PolicyNames
{
    private const int Most = 1000;

    private static readonly KeyValuePair<string, object?> Overflow = new("otel.metric.overflow", true);
    private static readonly Lock Lock = new();
    private static readonly HashSet<string> Known = new(StringComparer.Ordinal);

    /// <summary>The attribute of a name; null if there is no name.</summary>
    public static KeyValuePair<string, object?>? TagOf(string? name)
    {
        if (name is null)
        {
            return null;
        }

        lock (Lock)
        {
            if (!Known.Contains(name) && (Known.Count >= Most || !Known.Add(name)))
            {
                return Overflow;
            }
        }

        return new("weir.policy.name", name);
    }
}

/// <summary>Whether anybody asks for what policies do.</summary>
internal static class PolicyListeners
{
    // What a call would have waited for, as in weir.wait.for.
    public const string AtLimit = "concurrency_limit";
    public const string AtRate = "rate_limit";
    public const string AtCircuit = "circuit_breaker";

    private static readonly ListenerDetector Detector =
        new(DiagnosticNames.ListenersAssembly, static () => _ = AskForCalls(), TimeProvider.System);

    /// <summary>Whether somebody counts calls. False until <see cref="Look"/> found that somebody may listen.</summary>
    public static bool WantsCalls
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Detector.WasPossible && AskForCalls();
    }

    /// <summary>A policy was created: creates the meter if somebody may listen. That runs listeners' code: not under a lock.</summary>
    public static void Look()
    {
        if (Detector.IsPossible)
        {
            AskForCalls();
        }
    }

    /// <summary>A policy refused a call that would have had to wait. Not under a lock: listeners are user code.</summary>
    public static void Rejected(IMeteredPolicy policy, string waitFor, RejectionReason reason)
    {
        if (WantsCalls)
        {
            TellRejected(policy, waitFor, reason);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void TellRejected(IMeteredPolicy policy, string waitFor, RejectionReason reason) => PolicyMeter.Rejected(policy, waitFor, reason);

    // Separate, because compiling it loads the assembly that listeners need, and then there may be some.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool AskForCalls() => PolicyMeter.CountsCalls;
}

/// <summary>Why a policy refused a call that would have had to wait.</summary>
internal enum RejectionReason
{
    /// <summary>As many calls as may wait already do.</summary>
    QueueFull,

    /// <summary>Its wait would end after its time.</summary>
    Deadline,

    /// <summary>It waited, and its place was needed for a call of a higher priority.</summary>
    Priority,

    /// <summary>It waited, and its place was needed for a newer call.</summary>
    NewestFirst,
}

/// <summary>A policy that calls share, as the meter sees it. Its counts are those that it has anyway.</summary>
internal interface IMeteredPolicy
{
    /// <summary>The name that the user gave it, or null.</summary>
    string? Name { get; }

    /// <summary>Adds what it is doing now. Called under no lock; runs no user code.</summary>
    void AddTo(PolicyCounts counts);

    /// <summary>What a snapshot has of it, apart from its name and age. Called under no lock; runs no user code.</summary>
    LiveEntry Show();
}
