using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>What makes a run fail, and how it ends.</content>
internal abstract partial class Pump
{
    /// <summary>The failures of the run, created for the first one.</summary>
    public FailureLog Failures
    {
        get
        {
            lock (_lock)
            {
                return _stop.FailuresNeedsLock(Settings.ErrorMode);
            }
        }
    }

    /// <summary>Stops the run because the caller asked for it.</summary>
    public void Cancel(CancellationToken by) => Stop(by);

    /// <summary>Stops the run: nothing more starts, and the token of the running items is cancelled.</summary>
    /// <returns>Whether this call stopped it.</returns>
    public bool Stop(CancellationToken? by = null)
    {
        if (!TryStop(by, ItemStatus.Cancelled, null, out bool finish))
        {
            return false;
        }

        try
        {
            // The callbacks of these tokens are user code.
            _stop.CancelTokens(later: false);
        }
        finally
        {
            if (finish)
            {
                QueueFinish();
            }
        }

        return true;
    }

    void IRunHandle.Abandon() => Stop();

    /// <summary>The user's sequence threw: the run ends in every mode. An exception after a stop is a reaction to the cancelled token.</summary>
    public void SourceFailed(Exception error)
    {
        // A source whose items still begin drops by itself what its sequence throws after a stop.
        if (IsOver || (Orders is { StopsReading: true } && !Items.BeginsWhatWasRead) || !_stop.TryFailSource())
        {
            return;
        }

        Failures.AddSource(error);
        Stop();
    }

    /// <summary>
    /// The engine itself failed, which it should not. The run then fails in every mode and at any time, rather than ending as if nothing had happened.
    /// </summary>
    public void EngineFailed(Exception error)
    {
        try
        {
            Failures.AddSource(error);
        }
        catch (Exception)
        {
            // There is no memory, which this does not need.
            _stop.Break(error);
        }

        try
        {
            Stop();
        }
        catch (Exception)
        {
            // The run has stopped. Perhaps not all tokens were cancelled.
        }
    }

    /// <summary>The same outside of any worker. It may have been the time limit of an item that never ends by itself, so none is waited for.</summary>
    public void WorkFailed(Exception error)
    {
        EngineFailed(error);
        if (IsGuarded)
        {
            Abort(ItemStatus.Cancelled, error);
        }
    }

    /// <summary>
    /// An item has failed. Under FailFast, the run ends with the first such failure, and its exception says which item it was: nothing else does.
    /// </summary>
    public void ItemFailed(long index, Exception error)
    {
        if (!Failures.AddItem(index, error))
        {
            return;
        }

        if (Failures.Reports(index, error))
        {
            ItemNote.Add(error, index, Time == TimeProvider.System ? StartedAt : null);
        }

        Stop();
    }

    /// <summary>A hook that belongs to no item threw.</summary>
    public void HookFailed(Exception error)
    {
        if (!IsOver && Failures.AddItem(-1, error))
        {
            Stop();
        }
    }

    /// <summary>Whether the run ends with this change. Workers that wait for a thread hold no item, so the run does not wait for them.</summary>
    private bool TryFinishNeedsLock()
    {
        if (_finished || _workers.Live > _workers.Queued || _parked.Waiting != 0 || !(IsOver || (Items.IsExhausted && _counts.Delayed == 0)))
        {
            return false;
        }

        _finished = true;
        return true;
    }

    private bool TryFinish()
    {
        lock (_lock)
        {
            return TryFinishNeedsLock();
        }
    }

    /// <summary>Ends the run, from outside its workers, if nothing is left to wait for.</summary>
    private void FinishIfDone()
    {
        if (TryFinish())
        {
            QueueFinish();
        }
    }

    private bool TryStop(CancellationToken? by, ItemStatus status, Exception? error, out bool finish)
    {
        lock (_lock)
        {
            AssertInvariants();
            finish = false;
            if (_finished || !_stop.TryStopNeedsLock(by, status, error))
            {
                return false;
            }

            finish = TryFinishNeedsLock();
            return true;
        }
    }

    private void FinishOn(bool ownThread)
    {
        if (ownThread)
        {
            Finish();
        }
        else
        {
            FinishOnThePool();
        }
    }

    /// <summary>Ends the run from a thread that belongs to other code: the source's own code does not run there.</summary>
    private void FinishOnThePool()
    {
        if (SpareThreads.IsCurrent)
        {
            QueueFinish();
        }
        else
        {
            QueueFinish(static run => ThreadPool.UnsafeQueueUserWorkItem(run, preferLocal: false));
        }
    }

    /// <summary>The same for a run that was ended from outside, perhaps because its items hold all threads of the pool.</summary>
    private void QueueFinish() => QueueFinish(UrgentWork.Queue);

    private void QueueFinish(Action<IThreadPoolWorkItem> queue)
    {
        try
        {
            FaultPoint.Pass("Pump.QueueFinish", this);
            queue(this);
        }
        catch (Exception e)
        {
            // Better on any thread than not at all.
            _stop.Break(e);
            Finish();
        }
    }

    void IThreadPoolWorkItem.Execute()
    {
        try
        {
            FaultPoint.Pass("Pump.Execute", this);
            if (Context is { } context)
            {
                ExecutionContext.Run(context, Finish, this);
                return;
            }
        }
        catch (Exception e)
        {
            // Finishing never throws, so it has not begun.
            _stop.Break(e);
        }

        Finish();
    }

    private void Unlink()
    {
        IsWatched = false;
        _stop.Unregister();
    }

    private static void Finish(object? pump) => ((Pump)pump!).Finish();

    /// <summary>Ends the run. Never throws: whatever goes wrong here reaches the code that waits for the run.</summary>
    private void Finish()
    {
        try
        {
            _stop.SeeCancellation();
            Unlink();
            ValueTask disposing = default;
            try
            {
                disposing = Items.DisposeAsync();
            }
            catch (Exception e)
            {
                DisposalFailed(e);
            }

            if (!disposing.IsCompletedSuccessfully)
            {
                _ = FinishAsync(disposing);
                return;
            }
        }
        catch (Exception e)
        {
            _stop.Break(e);
        }

        CloseAndReport();
    }

    /// <summary>The same if the source closes asynchronously. Separate, because otherwise the run of a list would pay for the state machine.</summary>
    private async Task FinishAsync(ValueTask disposing)
    {
        try
        {
            try
            {
                await disposing.ConfigureAwait(false);
            }
            catch (Exception e)
            {
                DisposalFailed(e);
            }
        }
        catch (Exception e)
        {
            _stop.Break(e);
        }

        CloseAndReport();
    }

    private void DisposalFailed(Exception error)
    {
        if (!IsOver)
        {
            Failures.AddSource(error);
        }
    }

    private void CloseAndReport()
    {
        try
        {
            try
            {
                CloseDelays();
                for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
                {
                    worker.Retire();
                }
            }
            finally
            {
                Orders?.Settings.Control.Detach(this);
                Settings.OnEnd?.Invoke();
            }
        }
        catch (Exception e)
        {
            // No user code gets here except that of a clock, but there may be no memory.
            _stop.Break(e);
        }

        // The awaiting code may run right here. A pool thread that was started for this run and has nothing left to do can afford that.
        // A dedicated thread cannot.
        if (Settings.Executor.CanEndOnCurrentThread || SpareThreads.IsCurrent)
        {
            CompleteRun();
        }
        else
        {
            try
            {
                FaultPoint.Pass("Pump.CloseAndReport", this);
                ThreadPool.UnsafeQueueUserWorkItem(static pump => pump.CompleteRun(), this, preferLocal: false);
            }
            catch (Exception e)
            {
                // Better on this thread than not at all.
                _stop.Break(e);
                CompleteRun();
            }
        }
    }

    /// <summary>Tells whoever waits for the run. Never throws.</summary>
    private void CompleteRun()
    {
        try
        {
            FaultPoint.Pass("Pump.CompleteRun", this);
            LeaveWatch(_stop.Ending);
        }
        catch (Exception e)
        {
            _stop.Break(e);
        }

        try
        {
            CompleteOrBreak();
        }
        catch (Exception e)
        {
            // Once more, with nothing but the error: perhaps there is memory by now.
            try
            {
                CompleteBroken(e);
            }
            catch (Exception)
            {
                // Nothing is left to try.
            }
        }
    }

    private void CompleteOrBreak()
    {
        if (_stop.Unreported is { } error)
        {
            CompleteBroken(error);
        }
        else
        {
            Complete(_stop.By, _stop.Failures);
        }
    }

    protected abstract void CloseDelays();

    protected abstract void Complete(CancellationToken? cancelledBy, FailureLog? failures);

    /// <summary>Replaces a completion that threw or could not be reached.</summary>
    protected abstract void CompleteBroken(Exception error);
}

/// <summary>Whether a run was stopped before its end, by what, and what went wrong in it; and the tokens that its end cancels.</summary>
/// <remarks>
/// A run is stopped once, under its lock. As what it was stopped is written before it is over, by a volatile write: who sees that it is over sees that too, and
/// would otherwise give an item that ends just now the outcome of another run.
/// </remarks>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "The source has neither timer nor link; user code may hold its token for longer than the run.")]
internal struct RunStop()
{
    private readonly CancellationTokenSource _stopped = new();
    private TokenList _tokens;
    private CancellationTokenRegistration _ofCall;
    private CancellationTokenRegistration _ofEnumerator;
    private CancellationToken? _by;
    private FailureLog? _failures;
    private Exception? _broken;
    private int _sourceFailed;
    private volatile bool _isOver;

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
}

/// <summary>
/// The tokens of items that have their own. The run stops them itself: a registration of each worker with the run's token would cost more than all that a
/// worker needs for its items.
/// </summary>
/// <remarks>
/// Any worker adds at the front, by compare-and-swap, a full fence, and then reads whether the run is over. Whoever stops the run sets that first, under a
/// lock, and then reads the list. So one of both sees the other: the tokens are stopped by at least one of them. In any other order, an item could run on
/// with a token that nobody stops.
/// </remarks>
internal struct TokenList
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

/// <summary>What a run counts besides what its workers do.</summary>
/// <remarks>
/// Any thread counts items that were cancelled or passed their time limit, with interlocked additions. The rest is guarded by the run's lock.
/// </remarks>
internal struct RunCounts
{
    // The counts of workers that the run has forgotten; created for the first one that it forgets.
    private StrongBox<RunSample>? _past;
    private int _cancelled;
    private int _timedOut;
    private int _delayed;

    /// <summary>How many items wait for another attempt. Changed under the lock, and read without it too.</summary>
    public readonly int Delayed => Volatile.Read(in _delayed);

    /// <summary>What workers did that the run has forgotten.</summary>
    public ref RunSample PastNeedsLock => ref (_past ??= new StrongBox<RunSample>()).Value;

    public void AddDelayedNeedsLock(int count) => Volatile.Write(ref _delayed, _delayed + count);

    public void AddCancelled(int count) => Interlocked.Add(ref _cancelled, count);

    public void AddTimedOut(int count) => Interlocked.Add(ref _timedOut, count);

    /// <summary>A sample that has these counts.</summary>
    public readonly RunSample SampleNeedsLock()
    {
        RunSample sample = _past?.Value ?? default;
        sample.Delayed = _delayed;
        sample.Cancelled = Volatile.Read(in _cancelled);
        sample.TimedOut = Volatile.Read(in _timedOut);
        return sample;
    }
}

/// <summary>How many calls of a run are parked, and how many of them have succeeded, in one word: each call costs one atomic operation.</summary>
/// <remarks>
/// A worker adds the calls that it has parked before it leaves the run or waits for a thread, and each call subtracts itself when it ends. So the number may be
/// zero, or below, while workers are left. The run ends, under its lock, when no worker is left and the number is zero. Two threads look for that: the worker
/// that leaves last, after it has added; and the call that brings the number to zero, after it has subtracted. Both then take the lock, and the second one sees
/// what the first one did. If a worker added after it had left, the run could end while its calls still wait.
/// </remarks>
internal struct ParkedCount
{
    // One less in the lower half, which counts those that wait, and one more in the upper half, which counts those that have succeeded. If the lower half is
    // below zero, it has borrowed one from the upper half.
    private const long OneSucceeded = (1L << 32) - 1;

    private long _word;

    /// <summary>How many wait, as far as workers have told. Exact when no worker is left.</summary>
    public readonly int Waiting => (int)Volatile.Read(in _word);

    /// <summary>Adds calls that a worker has parked.</summary>
    public void Add(int count) => Interlocked.Add(ref _word, count);

    /// <summary>A call has succeeded, or its run fails without its outcome.</summary>
    /// <returns>Whether none waits, so that the run may have to end.</returns>
    public bool EndOne() => (int)Interlocked.Add(ref _word, OneSucceeded) == 0;

    /// <summary>Calls no longer count: a worker has taken their outcome, or they were given up.</summary>
    public void Remove(int count) => Interlocked.Add(ref _word, -count);

    public readonly void AddTo(ref RunSample sample)
    {
        long word = Volatile.Read(in _word);
        int waiting = (int)word;
        sample.InFlight += waiting;
        sample.Succeeded += (word - waiting) >> 32;
    }
}
