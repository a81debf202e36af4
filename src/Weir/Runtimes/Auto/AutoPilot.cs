using System.Diagnostics;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>
/// Chooses how the items of one call run, based on the measurements that it is given, and moves the call's two budgets: threads, and items in flight.
/// Thread-safe.
/// </summary>
internal sealed partial class AutoPilot : IRunPilot
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
}
