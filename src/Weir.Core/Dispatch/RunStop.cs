using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>Whether a run was stopped before its end, by what, and what went wrong in it; and the tokens that its end cancels.</summary>
/// <remarks>
/// A run is stopped once, under its lock. As what it was stopped is written before it is over, by a volatile write: who sees that it is over sees that too, and
/// would otherwise give an item that ends just now the outcome of another run. It stays over, and what it was stopped as does not change. The tokens are
/// cancelled afterwards, without the lock: of the items first, then that of the run. The pump owns this struct, and no copy of it is made.
/// </remarks>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "The source has neither timer nor link; user code may hold its token for longer than the run.")]
internal struct RunStop()
{
    // Immutable.
    private readonly CancellationTokenSource _stopped = new();

    // Of the thread that starts the run; see Unregister for the one that ends it.
    private CancellationTokenRegistration _ofCall;
    private CancellationTokenRegistration _ofEnumerator;

    // Under the run's lock, as As and Error are, until the run is over; from then on, any thread reads them. SeeCancellation writes at the end, when nobody else
    // is left.
    private CancellationToken? _by;

    // Atomic: created once, under the run's lock, for the first failure; that may come after the stop. Read by whoever looks.
    private volatile FailureLog? _failures;

    // Atomic: set once, under the run's lock, after all that it announces.
    private volatile bool _isOver;

    // Atomic: see TokenList.
    private TokenList _tokens;

    // Atomic: the first exception, by compare-and-swap.
    private Exception? _broken;

    // Atomic: 1 once the source has failed; the exchange lets one thread report it.
    private int _sourceFailed;

    /// <summary>The token that user code gets. It is cancelled when the run stops for any reason.</summary>
    public readonly CancellationToken Token => _stopped.Token;

    /// <summary>Whether the run was stopped. Then no further item starts.</summary>
    public readonly bool IsOver => _isOver;

    /// <summary>The status of an item that ends because the run was stopped.</summary>
    public ItemStatus As { get; private set; }

    /// <summary>The error of such an item.</summary>
    public Exception? Error { get; private set; }

    /// <summary>The caller's token that stopped the run, if one did.</summary>
    public readonly CancellationToken? By => _by;

    /// <summary>The failures, if there are any.</summary>
    public readonly FailureLog? Failures => _failures;

    /// <summary>Whether a failure has stopped the run.</summary>
    public readonly bool HasFailed => _isOver && _by is null && _failures?.Single is not null;

    /// <summary>What went wrong outside user code, if the run ends with nothing else that says why.</summary>
    public readonly Exception? Unreported => _by is null && _failures?.Single is null ? _broken : null;

    /// <summary>How the run ends.</summary>
    public readonly ItemStatus Ending =>
        _by is not null ? ItemStatus.Cancelled
        : As == ItemStatus.TimedOut ? ItemStatus.TimedOut
        : _broken is not null || _failures is { Single: not null } or { HasCollected: true } ? ItemStatus.Failed
        : ItemStatus.Succeeded;

    /// <summary>The failures, created for the first one.</summary>
    public FailureLog FailuresNeedsLock(ErrorMode mode) => _failures ??= new FailureLog(mode);

    /// <summary>Stops the run, unless it was stopped.</summary>
    /// <param name="by">The caller's token, if that stops it.</param>
    /// <param name="status">What items end as that the stop ends.</param>
    /// <param name="error">Their error.</param>
    public bool TryStopNeedsLock(CancellationToken? by, ItemStatus status, Exception? error)
    {
        if (_isOver)
        {
            return false;
        }

        _by = by;
        As = status;
        Error = error;
        _isOver = true;
        return true;
    }

    /// <summary>Something went wrong outside user code, and has to reach the code that waits for the run. The first counts.</summary>
    public void Break(Exception? error)
    {
        if (error is not null)
        {
            Interlocked.CompareExchange(ref _broken, error, null);
        }
    }

    /// <summary>Whether the source has not failed before: a worker that reads next, before the run stops, may get the same failure again.</summary>
    public bool TryFailSource() => Interlocked.Exchange(ref _sourceFailed, 1) == 0;

    /// <summary>Lets the caller's tokens stop the run: that of the call, and that of an enumerator. One that is cancelled stops it here.</summary>
    public void Register(Pump run, CancellationToken ofCall, CancellationToken ofEnumerator)
    {
        _ofCall = Register(run, ofCall);
        if (ofEnumerator != ofCall)
        {
            _ofEnumerator = Register(run, ofEnumerator);
        }
    }

    /// <summary>
    /// The run has ended without a stop. A token of the caller may have been cancelled meanwhile, and its callback for the run not have come: the thread that
    /// cancels it may be in another callback still. Then the run was cancelled all the same: an item may have asked for it, and knows that it did.
    /// </summary>
    public void SeeCancellation()
    {
        if (!_isOver)
        {
            _by = _ofCall.Token is { IsCancellationRequested: true } call ? call
                : _ofEnumerator.Token is { IsCancellationRequested: true } enumerator ? enumerator
                : null;
        }
    }

    /// <summary>The caller's tokens no longer stop the run, unless one of them is stopping it at this moment, or has.</summary>
    /// <remarks>
    /// The end of the run calls it, and so may its start, at the same time, if the run ended before it was wholly in place. The end may then see part of a
    /// registration, of which the platform says that it could not be taken back; the start sees all of it.
    /// </remarks>
    public void Unregister()
    {
        _ofCall.Unregister();
        _ofEnumerator.Unregister();
    }

    /// <summary>Cancels the items' own tokens when the run stops, or at once if it has.</summary>
    public void Add(ItemTokens tokens)
    {
        _tokens.Add(tokens);
        if (_isOver)
        {
            tokens.StopAll(later: false);
        }
    }

    /// <summary>Cancels the tokens of the run and of its items, after it was stopped.</summary>
    /// <param name="later">Whether the callbacks, which are user code, run elsewhere.</param>
    public void CancelTokens(bool later)
    {
        Break(_tokens.StopAll(later));
        if (later)
        {
            SafeCancel.Later(_stopped);
        }
        else
        {
            SafeCancel.Now(_stopped);
        }
    }

    // A token may be cancelled by a timer, so nothing is above this on its thread.
    private static CancellationTokenRegistration Register(Pump run, CancellationToken token) => !token.CanBeCanceled
        ? default
        : token.UnsafeRegister(static (run, token) => Unattended.Run((Pump)run!, static (run, token) => run.Cancel(token), token), run);

    /// <summary>
    /// The tokens of items that have their own. The run stops them itself: a registration of each worker with the run's token would cost more than all that a
    /// worker needs for its items.
    /// </summary>
    /// <remarks>
    /// Any worker adds at the front, by compare-and-swap, a full fence, and then reads whether the run is over. Whoever stops the run sets that first, under a
    /// lock, and then reads the list. So one of both sees the other: the tokens are stopped by at least one of them. In any other order, an item could run on
    /// with a token that nobody stops.
    /// </remarks>
    private struct TokenList
    {
        // The newest first.
        private ItemTokens? _first;

        /// <summary>Adds tokens. The caller then stops them itself if the run is over.</summary>
        public void Add(ItemTokens tokens)
        {
            ItemTokens? first;
            do
            {
                first = Volatile.Read(ref _first);
                tokens.NextOfRun = first;
            }
            while (Interlocked.CompareExchange(ref _first, tokens, first) != first);
        }

        /// <summary>Stops all tokens, after the run was marked as over.</summary>
        /// <param name="later">Whether the callbacks, which are user code, run elsewhere.</param>
        /// <returns>What went wrong, if anything did: no user code, but there may be no memory.</returns>
        public readonly Exception? StopAll(bool later)
        {
            Exception? failure = null;
            for (ItemTokens? tokens = Volatile.Read(in _first); tokens is not null; tokens = tokens.NextOfRun)
            {
                try
                {
                    tokens.StopAll(later);
                }
                catch (Exception e)
                {
                    failure ??= e;
                }
            }

            return failure;
        }
    }
}

/// <summary>
/// The time limit of a whole run, from its start: no other item begins then, and those that run are given up, whatever their calls do. Only for guarded runs.
/// </summary>
/// <param name="limit">The limit.</param>
internal sealed class RunDeadline(TimeSpan limit) : IUnattended
{
    // Takes the place of the timer once the run has ended.
    private static readonly ITimer Ended = new WatchTimer(static _ => { }, null);

    // Of the thread that starts the run, until there is a timer.
    private Pump? _run;

    // Atomic: null, then the timer, and Ended in the end. The limit may pass, and the run end, before its start has stored the timer: whoever comes second
    // disposes of it.
    private ITimer? _timer;

    /// <summary>The run starts. The limit may pass before this returns.</summary>
    public void Start(Pump run)
    {
        _run = run;
        ITimer timer = WatchTime.CreateTimer(run.Time, static deadline => ((RunDeadline)deadline!).Pass(), this);
        timer.Change(limit, Timeout.InfiniteTimeSpan);
        if (Interlocked.CompareExchange(ref _timer, timer, null) is not null)
        {
            timer.Dispose();
        }
    }

    /// <summary>The run has ended.</summary>
    public void End() => Interlocked.Exchange(ref _timer, Ended)?.Dispose();

    public void WorkFailed(Exception error) => _run!.WorkFailed(error);

    private void Pass() => _run!.Abort(ItemStatus.TimedOut, TimeLimit.OfRun(limit));
}
