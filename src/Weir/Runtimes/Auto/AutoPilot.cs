using System.Diagnostics;
using System.Globalization;
using System.Reflection;
using System.Runtime.InteropServices;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Threads;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>
/// Chooses how the items of one call run, based on the measurements that it is given, and moves the call's two budgets: threads, and items in flight.
/// Thread-safe.
/// </summary>
internal sealed class AutoPilot : IRunPilot
{
    /// <summary>Where the climb begins: few enough for any server.</summary>
    private const int FirstInFlight = 25;

    /// <summary>The items of the first observation; fewer if they take long.</summary>
    private const int ProbeItems = 16;

    private const double Waiting = 0.3;
    private const double MostlySuspending = 0.8;
    private const double Saturated = 0.85;

    // The cost of a hand-over to another thread, on both sides together.
    private static readonly long HandOver = Stopwatch.Frequency / 50_000;
    private static readonly long ProbeTicks = Stopwatch.Frequency / 10_000;
    private static readonly long LookTicks = Stopwatch.Frequency / 500;
    private static readonly long Dwell = Stopwatch.Frequency / 100;
    private static readonly long TeamThreshold = Stopwatch.Frequency / 20_000;

    private readonly Lock _lock = new();
    private readonly AutoExecutor _executor;
    private readonly AutoBudget _budget;
    private readonly int _count;
    private readonly long _started = Stopwatch.GetTimestamp();
    private readonly List<AutoStep> _steps = [];
    private Pump? _run;
    private AutoMode _mode;
    private AutoSample _sample;
    private AutoLatency _latency;
    private int _inFlight;
    private int _recordedInFlight;
    private int _waiting;
    private long _returned;
    private long _ended;
    private long _endedAtTick;
    private long _lastLook;
    private long _lastChange;
    private AutoMode? _candidate;
    private int _threads;
    private bool _isBusy;
    private volatile bool _wantsCpu = true;

    public AutoPilot(AutoExecutor executor, AutoBudget budget, int count, AutoProfile? profile)
    {
        _executor = executor;
        _budget = budget;
        _count = count;
        _latency.IsRising = true;
        _threads = budget.Threads;
        _inFlight = Math.Min(_threads, budget.InFlight);
        _lastLook = _started;
        if (profile is not null)
        {
            _known = profile.Sample;
            _sample = profile.Sample;
            _isTiny = profile.IsTiny;
            AutoMode mode = Choose(out FormattableString rule, out bool isTiny);
            SwitchNeedsLock(mode, Waits(mode) ? profile.InFlight : _threads, $"as in an earlier call, {rule}: {_known}");
            _isTiny = isTiny;
            _sample = default;
        }
    }

    /// <summary>Where the workers run.</summary>
    public AutoExecutor Executor => _executor;

    /// <summary>How many items may be in flight at the start.</summary>
    public int InFlight => _inFlight;

    /// <inheritdoc/>
    public bool WantsCpu => _wantsCpu && ThreadClock.IsKnown;

    public IReadOnlyList<AutoDecision> Decisions
    {
        get
        {
            lock (_lock)
            {
                AutoDecision[] decisions = new AutoDecision[_steps.Count];
                for (int i = 0; i < decisions.Length; i++)
                {
                    decisions[i] = _steps[i].InWords();
                }

                return decisions;
            }
        }
    }

    /// <summary>What the processor's next call can start with; null if too little is known.</summary>
    public AutoProfile? Profile
    {
        get
        {
            lock (_lock)
            {
                return _known.Items == 0 ? null : new AutoProfile(_known, Math.Max(FirstInFlight, _inFlight), _isTiny);
            }
        }
    }

    private bool IsSynchronous => _mode is AutoMode.Probe or AutoMode.Direct or AutoMode.Parallel;

    /// <summary>Sets the run whose limit is moved.</summary>
    public void Steer(Pump run) => _run = run;

    /// <summary>The run has ended. The decisions outlive it and must not keep its items and outcomes alive.</summary>
    public void Release()
    {
        lock (_lock)
        {
            _run = null;
        }
    }

    /// <inheritdoc/>
    public void RecordItems(int items, long ticks, long cpu, bool suspended)
    {
        lock (_lock)
        {
            _sample.Items += items;
            _sample.Ticks += ticks;
            if (items >= ItemMeter.FewItems)
            {
                _sample.AddClaim((double)ticks / items);
            }

            _returned += items;
            if (cpu >= 0)
            {
                _sample.SampledTicks += ticks;
                _sample.CpuTicks += cpu;
                _wantsCpu = _mode == AutoMode.Probe;
            }

            if (suspended)
            {
                _sample.Suspended++;
                _waiting++;
                _ended += items - 1;
            }
            else
            {
                _ended += items;
            }

            if (suspended && IsSynchronous)
            {
                EvaluateNeedsLock(Stopwatch.GetTimestamp(), atOnce: true);
            }
            else if (_mode == AutoMode.Probe ? _sample.Items >= ProbeItems || _sample.Ticks >= ProbeTicks : _sample.Items >= ProbeItems)
            {
                long now = Stopwatch.GetTimestamp();
                if (_mode == AutoMode.Probe || now - _lastLook >= LookTicks)
                {
                    EvaluateNeedsLock(now, atOnce: _mode == AutoMode.Probe);
                }
            }
        }
    }

    /// <inheritdoc/>
    public void Waited(long ticks, bool failed)
    {
        lock (_lock)
        {
            _waiting--;
            _ended++;
            _latency.Add(ticks, failed);
            if (_mode is AutoMode.Concurrent or AutoMode.Mixed)
            {
                int next = _latency.Next(_inFlight, FirstInFlight, _budget.InFlight, _isBusy, out FormattableString? reason);
                if (next != _inFlight)
                {
                    MoveNeedsLock(next, reason!);
                }
            }
        }
    }

    /// <inheritdoc/>
    public void RecordGivenUp()
    {
        lock (_lock)
        {
            _waiting--;
            _ended++;
        }
    }

    /// <inheritdoc/>
    public void Tick(int stuck, double cores)
    {
        // Where it is not known, nothing is considered blocked.
        cores = double.IsNaN(cores) ? Environment.ProcessorCount : cores;
        lock (_lock)
        {
            bool hasStopped = _ended == _endedAtTick;
            _endedAtTick = _ended;
            _wantsCpu = true;
            _isBusy = cores > Saturated * Environment.ProcessorCount;
            ShareNeedsLock();
            bool isBlocked = stuck > 0 && cores < 0.5 * Math.Min(stuck, _threads);
            if (isBlocked && IsSynchronous)
            {
                SwitchNeedsLock(
                    AutoMode.Blocking, FirstInFlight, $"{stuck} of the items are inside their calls since 10 ms, and the process kept {cores:0.0#} cores busy");
            }
            else if (_mode is AutoMode.Concurrent or AutoMode.Mixed or AutoMode.Blocking
                && hasStopped && _latency.IsRising && _inFlight < _budget.InFlight && _waiting + stuck >= _inFlight)
            {
                _latency.Restart();
                MoveNeedsLock(Math.Min(_budget.InFlight, _inFlight * 2), $"all {_inFlight} items have been waiting for 10 ms");
            }
        }
    }

    // The conclusions from the figures.

    private const int MostDecisions = 64;

    private static readonly double Tiny = Stopwatch.Frequency / 50e6;

    // How many times as long tiny items may appear to take for reasons outside the items: memory that is touched for the first time, which delays all of them;
    // and a garbage collection, or a thread that another process delays, which delays some. If they take longer than that, the cause is the items themselves.
    private const double DisturbedAll = 4;
    private const double DisturbedSome = 5;

    private AutoSample _known;

    // Whether items run one after the other because they are tiny.
    private bool _isTiny;

    /// <summary>Evaluates the figures since the last look. Changes the mode if they have agreed twice, or at once if asked to.</summary>
    private void EvaluateNeedsLock(long now, bool atOnce)
    {
        AssertInvariants();
        AutoMode mode = Choose(out FormattableString rule, out bool isTiny);
        _known = _sample;
        _lastLook = now;
        if (mode == _mode)
        {
            _candidate = null;
        }
        else if (atOnce || (_candidate == mode && now - _lastChange >= Dwell))
        {
            int inFlight = Waits(mode) ? Math.Max(FirstInFlight, _inFlight) : _threads;
            SwitchNeedsLock(mode, inFlight, $"{rule}: {_known}");
            _isTiny = isTiny;
        }
        else
        {
            _candidate = mode;
        }

        _sample = default;
    }

    private static bool Waits(AutoMode mode) => mode is AutoMode.Concurrent or AutoMode.Mixed or AutoMode.Blocking;

    private AutoMode Choose(out FormattableString rule, out bool isTiny)
    {
        isTiny = false;
        double perItem = _sample.PerItem;
        double left = (_count - _returned) * perItem;
        if (_sample.Suspended > 0 || _waiting > 0)
        {
            bool mostly = _sample.Share >= MostlySuspending;
            rule = mostly ? (FormattableString)$"the items wait" : $"some items wait and others compute";
            return mostly ? AutoMode.Concurrent : AutoMode.Mixed;
        }

        if (_sample.CpuShare < Waiting && perItem >= HandOver)
        {
            rule = $"the items hold their thread while they wait";
            return AutoMode.Blocking;
        }

        if (_threads == 1 || _budget.InFlight == 1)
        {
            rule = $"there is one thread";
            return AutoMode.Direct;
        }

        bool wasTiny = _isTiny && (_mode is AutoMode.Probe or AutoMode.Direct);
        if (_sample.Quickest < (wasTiny ? DisturbedAll * Tiny : Tiny) && perItem < DisturbedSome * Tiny)
        {
            isTiny = true;
            rule = $"an item takes no longer than storing its outcome, and two threads only hinder each other there";
            return AutoMode.Direct;
        }

        if (left < HandOver)
        {
            rule = $"what is left takes {new AutoTime(left)}, less than a hand-over";
            return AutoMode.Direct;
        }

        rule = $"the items compute";
        return AutoMode.Parallel;
    }

    private void SwitchNeedsLock(AutoMode mode, int inFlight, FormattableString reason)
    {
        AutoMode from = _mode;
        _mode = mode;
        _candidate = null;
        _lastChange = Stopwatch.GetTimestamp();
        if (!Waits(from) || !Waits(mode))
        {
            _latency = new AutoLatency { IsRising = true };
        }

        _inFlight = mode == AutoMode.Direct ? 1 : Math.Clamp(inFlight, 1, _budget.InFlight);
        _executor.UsesTeam = mode == AutoMode.Blocking || (mode == AutoMode.Parallel && _sample.PerItem >= TeamThreshold);
        ApplyNeedsLock();
        RecordNeedsLock(from, reason);
    }

    /// <summary>Takes the call's share of the threads, which changes as other calls come and go.</summary>
    private void ShareNeedsLock()
    {
        int threads = _budget.Threads;
        if (threads == _threads)
        {
            return;
        }

        _threads = threads;
        if (_mode is AutoMode.Probe or AutoMode.Parallel)
        {
            _inFlight = Math.Min(threads, _budget.InFlight);
        }

        ApplyNeedsLock();
        RecordNeedsLock(_mode, $"the runtime has {_budget.Calls} calls running, which share its threads");
    }

    private void MoveNeedsLock(int inFlight, FormattableString reason)
    {
        bool isCut = inFlight < _inFlight;
        _inFlight = inFlight;
        ApplyNeedsLock();

        // Do not record every small step upwards.
        if (isCut || _inFlight >= _recordedInFlight * 1.5 || _inFlight == _budget.InFlight)
        {
            RecordNeedsLock(_mode, reason);
        }
    }

    private void ApplyNeedsLock()
    {
        _executor.SetThreads(_mode switch
        {
            AutoMode.Direct => 1,
            AutoMode.Blocking => _inFlight,
            _ => _threads,
        });

        // Under the lock, so that the later of two changes takes effect. No user code runs under it.
        if (_run is not null && _run.Limit != _inFlight)
        {
            _run.SetLimit(_inFlight);
        }
    }

    private void RecordNeedsLock(AutoMode from, FormattableString reason)
    {
        _recordedInFlight = _inFlight;
        if (_steps.Count == MostDecisions)
        {
            _steps.RemoveAt(1);
        }

        AutoDecision decision = new()
        {
            At = Stopwatch.GetElapsedTime(_started),
            Items = _ended,
            From = from,
            To = _mode,
            Threads = _executor.Threads,
            InFlight = _inFlight,
            Reason = "",
        };
        _steps.Add(new AutoStep(decision, reason));
    }

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The figures are read and changed under the lock.");
        Debug.Assert(_inFlight >= 1 && _inFlight <= _budget.InFlight, "The budget is a bound.");
    }
}

/// <summary>The measurements of a call's items since the last look.</summary>
[StructLayout(LayoutKind.Auto)]
internal struct AutoSample
{
    /// <summary>Items whose call has returned, completed or not.</summary>
    public long Items;

    /// <summary>The time inside their calls until these returned, in Stopwatch ticks.</summary>
    public long Ticks;

    /// <summary>Items whose call returned before they had completed.</summary>
    public long Suspended;

    /// <summary>The time inside those calls whose processor time was also measured.</summary>
    public long SampledTicks;

    /// <summary>The processor time of those calls.</summary>
    public long CpuTicks;

    // Zero until there was one.
    private double _quickest;

    /// <summary>Ticks of an item's call in the fastest claim of many items: the time an item takes while nothing takes the processor away from it.</summary>
    public readonly double Quickest => _quickest > 0 ? _quickest : PerItem;

    /// <summary>Ticks of an item's call.</summary>
    public readonly double PerItem => Items == 0 ? 0 : (double)Ticks / Items;

    /// <summary>The share of items that suspended.</summary>
    public readonly double Share => Items == 0 ? 0 : (double)Suspended / Items;

    /// <summary>The share of the time inside calls in which a processor worked; 1 if it is not known.</summary>
    public readonly double CpuShare => SampledTicks == 0 ? 1 : Math.Min(1, (double)CpuTicks / SampledTicks);

    /// <summary>Records the time per item of a claim of many items.</summary>
    public void AddClaim(double perItem) => _quickest = _quickest > 0 ? Math.Min(_quickest, perItem) : perItem;

    /// <summary>The figures as text.</summary>
    public override readonly string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{new AutoTime(PerItem)} in an item's call, {CpuShare:P0} of it computing, {Share:P0} of the items suspend");
}

/// <summary>A time in Stopwatch ticks, whose text has a suitable unit.</summary>
internal readonly struct AutoTime(double ticks)
{
    /// <summary>The time as text.</summary>
    public override string ToString()
    {
        double nanoseconds = ticks / Stopwatch.Frequency * 1e9;
        return nanoseconds switch
        {
            < 1e3 => string.Create(CultureInfo.InvariantCulture, $"{nanoseconds:0.#} ns"),
            < 1e6 => string.Create(CultureInfo.InvariantCulture, $"{nanoseconds / 1e3:0.#} us"),
            _ => string.Create(CultureInfo.InvariantCulture, $"{nanoseconds / 1e6:0.#} ms"),
        };
    }
}

/// <summary>The most that one call may use of a runtime: its share of the threads, and the same number of items in flight as every other call.</summary>
/// <param name="threads">Threads that the runtime keeps busy with synchronous work, unless it blocks them.</param>
/// <param name="inFlight">Items of one call in flight.</param>
internal sealed class AutoBudget(int threads, int inFlight)
{
    private int _calls;

    public int InFlight => inFlight;

    /// <summary>Calls that are running.</summary>
    public int Calls => Volatile.Read(ref _calls);

    /// <summary>The share of one call. All calls together compute on no more threads than the runtime has, but each call has at least one.</summary>
    public int Threads => Math.Max(1, threads / Math.Max(1, Calls));

    public void Enter() => Interlocked.Increment(ref _calls);

    public void Leave() => Interlocked.Decrement(ref _calls);
}

/// <summary>A decision whose reason is put into words when somebody asks, because most calls have no such reader, and a first call would take longer.</summary>
internal sealed class AutoStep(AutoDecision decision, FormattableString reason)
{
    public AutoDecision InWords() => decision with { Reason = FormattableString.Invariant(reason) };
}

/// <summary>
/// Decides how many items may be in flight from how long they take. The limit doubles after each window until the first bad sign. Then it follows the
/// latency relative to a slowly moving baseline, as in Vegas and Netflix's concurrency-limits.
/// </summary>
[StructLayout(LayoutKind.Auto)]
internal struct AutoLatency
{
    private const double Inflated = 2;
    private const double Level = 1.3;
    private const double Cut = 0.7;
    private const double Failing = 0.2;
    private const double Drift = 0.05;

    private double _base;
    private double _baseFailing;
    private long _ticks;
    private int _waits;
    private int _failures;
    private bool _wasBad;

    /// <summary>Whether no bad sign has been seen yet.</summary>
    public bool IsRising;

    /// <summary>Counts an item that was waited for.</summary>
    public void Add(long ticks, bool failed)
    {
        _waits++;
        _ticks += ticks;
        _failures += failed ? 1 : 0;
    }

    /// <summary>Forgets the window, after the limit has moved for another reason.</summary>
    public void Restart()
    {
        _waits = 0;
        _ticks = 0;
        _failures = 0;
    }

    /// <summary>The limit that follows from the window, or the same limit while the window is not full.</summary>
    /// <param name="limit">The current limit.</param>
    /// <param name="least">The lowest limit that a bad sign may lead to.</param>
    /// <param name="most">The highest limit.</param>
    /// <param name="isBusy">Whether this process keeps all processors busy, so that longer times say nothing about what the items wait for.</param>
    /// <param name="reason">Why the limit changes.</param>
    public int Next(int limit, int least, int most, bool isBusy, out FormattableString? reason)
    {
        reason = null;
        int window = IsRising ? Math.Max(4, limit / 4) : Math.Max(16, limit);
        if (_waits < window)
        {
            return limit;
        }

        double latency = (double)_ticks / _waits;
        double failing = (double)_failures / _waits;
        if (_base == 0)
        {
            _base = latency;
            _baseFailing = failing;
        }

        _base = Math.Min(latency, _base + ((latency - _base) * Drift));
        Restart();
        FormattableString? bad = failing > Failing && failing > 2 * _baseFailing ? (FormattableString)$"{failing:P0} of the items failed"
            : latency > Inflated * _base && !isBusy ? (FormattableString)$"an item takes {new AutoTime(latency)} instead of {new AutoTime(_base)}"
            : null;

        // A single bad window may be a hiccup of the machine.
        bool isSure = bad is not null && _wasBad;
        _wasBad = bad is not null;
        int next = limit;
        if (isSure)
        {
            _wasBad = false;
            IsRising = false;
            next = Math.Max(Math.Min(limit, least), (int)(limit * Cut));
            reason = bad;
        }
        else if (bad is null && limit < most && (IsRising || latency <= Level * _base))
        {
            next = IsRising ? Math.Min(most, limit * 2) : Math.Min(most, limit + Math.Max(1, limit / 10));
            reason = $"an item takes {new AutoTime(latency)}, and {new AutoTime(_base)} at best";
        }

        return next;
    }
}

/// <summary>What a runtime learned about a processor in earlier calls. The next call starts with it.</summary>
/// <param name="Sample">The figures of the last look.</param>
/// <param name="InFlight">How many of its items could be in flight.</param>
/// <param name="IsTiny">Whether they ran one after the other because they are tiny.</param>
internal sealed record AutoProfile(AutoSample Sample, int InFlight, bool IsTiny = false);

/// <summary>The profiles of a runtime, by the method that processes the items.</summary>
internal sealed class AutoProfiles
{
    // A program has few processors. One that generates methods at run time must not fill the memory.
    private const int Most = 256;

    // Not a concurrent dictionary, which takes a first call as long as all the rest: it makes an event source to tell of its locks.
    private readonly Dictionary<MethodInfo, AutoProfile> _profiles = [];
    private readonly Lock _lock = new();

    public AutoProfile? Find(Delegate processor)
    {
        lock (_lock)
        {
            if (_profiles.Count == 0)
            {
                return null;
            }
        }

        MethodInfo method = MethodOf(processor);
        lock (_lock)
        {
            return _profiles.GetValueOrDefault(method);
        }
    }

    public void Keep(Delegate processor, AutoProfile profile)
    {
        MethodInfo method = MethodOf(processor);
        lock (_lock)
        {
            if (_profiles.Count >= Most)
            {
                _profiles.Clear();
            }

            _profiles[method] = profile;
        }
    }

    // The user's own method: the adapter around calls that return a task is the same for all of them.
    private static MethodInfo MethodOf(Delegate processor) => TaskCalls.Inner(processor).Method;
}

/// <summary>The threads of one call of an <see cref="AutoRuntime"/>, which are the pool's or the runtime's own, and how many of them may compute.</summary>
internal sealed class AutoExecutor(ThreadTeam team, int threads) : Executor
{
    private int _threads = threads;
    private volatile bool _usesTeam;

    public override int Threads => Volatile.Read(ref _threads);

    public override bool CanRunOnCurrentThread => PoolExecutor.Instance.CanRunOnCurrentThread;

    public override long Quantum => PoolExecutor.Instance.Quantum;

    public override bool MayKeepThread => Current.MayKeepThread;

    public override object? CurrentHost => team.CurrentHost;

    /// <summary>Whether workers get the runtime's own threads from now on. Running workers stay where they are until their slice ends.</summary>
    public bool UsesTeam
    {
        get => _usesTeam;
        set => _usesTeam = value;
    }

    private Executor Current => _usesTeam ? team : PoolExecutor.Instance;

    public void SetThreads(int threads) => Volatile.Write(ref _threads, threads);

    public override void ReplaceHost(object host) => team.ReplaceHost(host);

    public override void Queue(IThreadPoolWorkItem worker) => Current.Queue(worker);

    public override void QueueUrgently(IThreadPoolWorkItem worker) => Current.QueueUrgently(worker);

    public override void QueueWhileBlocked(IThreadPoolWorkItem worker) => Current.QueueWhileBlocked(worker);

    public override void QueueNext(IThreadPoolWorkItem worker) => Current.QueueNext(worker);
}
