using System.Runtime.CompilerServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// Storing messages, and one worker, which reads the queue without the lock: see <see cref="WorkerCount"/>.
/// </content>
internal abstract partial class ExecCore<T>
{
    /// <summary>How often at most a worker that finds nothing looks again before it rests: about 1 us.</summary>
    private static readonly int MostPatience = Environment.ProcessorCount > 1 ? 8 : 0;

    /// <summary>The worker of a dense stream that finds fewer messages waits a moment once, so that it reads memory that the writer has left.</summary>
    private const int FewMessages = 64;

    /// <summary>If it finds fewer than this after that moment, the stream is not dense, and the worker waits less often.</summary>
    private const int SparseMessages = 16;
    private const int LooksWithoutWait = 64;

    private InputQueue<T>? _queue;

    /// <summary>How often the worker looks again before it rests. It grows when a look found a message, and shrinks when none did.</summary>
    private int _patience;

    public sealed override bool Post(T item)
    {
        if (IsBounded)
        {
            return base.Post(item);
        }

        // The message only has to be put into the queue.
        LockOwner? key = StateLock.Enter();
        if (IsDecliningNeedsLock)
        {
            StateLock.Exit(key);
            return false;
        }

        IAfterLock? after = EnqueueNeedsLock(item);
        StateLock.Exit(key);
        after?.AfterLock();
        return true;
    }

    public sealed override bool TryAcceptDirect(T item, int sourceId, out IAfterLock? after)
    {
        if (IsBounded)
        {
            return base.TryAcceptDirect(item, sourceId, out after);
        }

        LockOwner? key = StateLock.Enter(sourceId);
        if (IsDecliningNeedsLock)
        {
            StateLock.Exit(key);
            after = null;
            return false;
        }

        after = EnqueueNeedsLock(item);
        StateLock.Exit(key);
        return true;
    }

    /// <summary>Processes messages of the queue, which are taken one by one.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="items">The messages at its head.</param>
    /// <param name="budget">How many messages this work item may still process.</param>
    /// <returns>Whether this worker continues. Otherwise it has been queued again, or a call is pending.</returns>
    protected virtual bool ProcessAll(InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget) => ProcessEach(queue, items, ref budget);

    private bool ProcessEach(InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget)
    {
        long id = queue.ReadCount;
        foreach (ref readonly T slot in items)
        {
            if (_dropped)
            {
                break;
            }

            if (budget-- == 0)
            {
                queue.IsInCall = false;
                QueueWorker(again: true);
                return false;
            }

            T item = slot;
            queue.Take(in slot);
            if (!Call(item, id++))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Like the other overload, for calls that are done when they return; between two messages it does only what is needed.</summary>
    protected bool ProcessAll<TCall>(TCall call, InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget)
        where TCall : struct, IMessageCall<T>
    {
        int done = 0;
        while (done < items.Length)
        {
            T item = default!;
            try
            {
                do
                {
                    if (_dropped)
                    {
                        return true;
                    }

                    if (budget-- == 0)
                    {
                        queue.IsInCall = false;
                        QueueWorker(again: true);
                        return false;
                    }

                    ref readonly T slot = ref items[done++];
                    item = slot;
                    queue.Take(in slot);
                    call.Run(item);
                }
                while (done < items.Length);
            }
            catch (Exception e)
            {
                ProcessFailed(item, e);
                call.Failed();
            }
        }

        return true;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private IAfterLock? EnqueueNeedsLock(T item)
    {
        InputQueue<T>? queue = _queue ?? TryBeginQueue();
        if (queue is null || !queue.TryEnqueue(item))
        {
            return NoMemory.Instance;
        }

        ProcessBarrier.Light();
        return _workers.TryJoin() ? this : null;
    }

    private InputQueue<T>? TryBeginQueue()
    {
        try
        {
            _queue = new InputQueue<T>();
            _queue.Listed.Begin(this);
            return _queue;
        }
        catch (OutOfMemoryException)
        {
            return null;
        }
    }

    private void WorkSerial()
    {
        InputQueue<T> queue = _queue!;
        int budget = Options.MessagesPerTask;
        int spins = 0;
        int looks = 0;
        bool waited = false;
        while (true)
        {
            ReadOnlySpan<T> items = queue.Peek();
            if (items.IsEmpty || _dropped)
            {
                if (spins < _patience && !_dropped)
                {
                    // A writer that is just as fast would otherwise find the worker asleep at every message. Let it write alone for a moment, so that
                    // there is more than one message the next time.
                    spins++;
                    Thread.SpinWait(16);
                    continue;
                }

                if (spins > 0)
                {
                    _patience /= 2;
                    spins = 0;
                }

                if (TryRest(queue))
                {
                    return;
                }

                continue;
            }

            if (!IsBounded && items.Length < FewMessages && _patience >= 2 && queue.Count < FewMessages)
            {
                if (!waited && looks == 0)
                {
                    waited = true;
                    Thread.SpinWait(16);
                    continue;
                }

                looks = !waited ? looks - 1 : items.Length < SparseMessages ? LooksWithoutWait : 0;
            }

            waited = false;

            // Not started where messages come one at a time, or cannot pile up.
            if (spins > 0)
            {
                _patience = Math.Min(_patience + 1, MostPatience);
                spins = 0;
            }
            else if (items.Length >= 4 && _patience < 2)
            {
                _patience = Math.Min(2, MostPatience);
            }

            LookForListeners();
            queue.IsInCall = true;
            if (!(_isWatched ? ProcessEach(queue, items, ref budget) : ProcessAll(queue, items, ref budget)))
            {
                return;
            }

            queue.IsInCall = false;
        }
    }
}
