using System.Runtime.InteropServices;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What a TransformManyBlock does.</summary>
internal sealed class TransformManyCore<TIn, TOut> : OutputExecCore<TIn, TOut>
{
    private readonly Func<TIn, IEnumerable<TOut>>? _transform;
    private readonly Func<TIn, Task<IEnumerable<TOut>>>? _asyncTransform;
    private readonly Func<TIn, IAsyncEnumerable<TOut>>? _streamTransform;

    public TransformManyCore(
        IPropagatorBlock<TIn, TOut> owner,
        Func<TIn, IEnumerable<TOut>>? transform,
        Func<TIn, Task<IEnumerable<TOut>>>? asyncTransform,
        Func<TIn, IAsyncEnumerable<TOut>>? streamTransform,
        BlockOptions options)
        : base(owner, options)
    {
        _transform = transform;
        _asyncTransform = asyncTransform;
        _streamTransform = streamTransform;
        ListenToToken();
    }

    protected override bool Process(TIn item, long id)
    {
        if (_transform is not null)
        {
            return EmitAll(item, id, null, here: true) is not { } rest || ProcessTask(item, id, rest);
        }

        Task? task;
        try
        {
            task = _asyncTransform is not null ? _asyncTransform(item) : Enumerate(_streamTransform!(item), id);
        }
        catch (Exception e)
        {
            return Threw(item, id, e);
        }

        return ProcessTask(item, id, task);
    }

    protected override Task? TaskDone(TIn item, long id, Task? task, bool here)
    {
        if (task is Task<IEnumerable<TOut>> { IsCompletedSuccessfully: true } result)
        {
            return here || Options.OnDefaultScheduler || result.Result is null or TOut[] or List<TOut>
                ? EmitAll(item, id, result, here)
                : EmitOnScheduler(item, id, result);
        }

        TaskFailed(item, task);
        if (_asyncTransform is not null && task is null or Task<IEnumerable<TOut>>)
        {
            EmitNothing(item, id, here);
        }

        // What other tasks made was sent as it came, and so was its end.
        return null;
    }

    /// <summary>Sends what the delegate returned.</summary>
    /// <returns>Null if that is done. Otherwise the call has to wait for its turn, and this is what it does from then on.</returns>
    private Task? EmitAll(TIn item, long id, Task<IEnumerable<TOut>>? task, bool here)
    {
        int count = 0;
        List<TOut>? all = null;
        try
        {
            IEnumerable<TOut>? outputs = task is null ? _transform!(item) : task.Result;
            if (outputs is TOut[] array && Options.Parallelism > 1)
            {
                all = EmitTogether(array, ref count);
            }
            else if (outputs is List<TOut> list && Options.Parallelism > 1)
            {
                all = EmitTogether(CollectionsMarshal.AsSpan(list), ref count);
            }
            else if (outputs is not null)
            {
                bool isTurn = Ordered is null;
                IEnumerator<TOut>? each = outputs.GetEnumerator();
                try
                {
                    while (!IsDropped && each.MoveNext())
                    {
                        if (!EmitOne(id, each.Current, ref count, ref isTurn))
                        {
                            Task rest = EmitRest(each, id);
                            each = null;
                            return rest;
                        }
                    }
                }
                finally
                {
                    each?.Dispose();
                }
            }
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }

        try
        {
            EmitEnd(id, all, count, here);
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }

        return null;
    }

    /// <summary>Sends what the delegate's task gave. The task may have ended on any thread, and a sequence is the user's code.</summary>
    private async Task EmitOnScheduler(TIn item, long id, Task<IEnumerable<TOut>> task)
    {
        Task<Task?> begun;
        try
        {
            begun = Task.Factory.StartNew(
                () => EmitAll(item, id, task, here: true), CancellationToken.None, TaskCreationOptions.DenyChildAttach, Options.Scheduler);
        }
        catch
        {
            EmitNothing(item, id, here: false);
            throw;
        }

        if (await begun.ConfigureAwait(false) is { } rest)
        {
            await rest.ConfigureAwait(false);
        }
    }

    /// <summary>Goes on with a sequence, of which some is kept already, when it is its turn.</summary>
    private async Task EmitRest(IEnumerator<TOut> outputs, long id)
    {
        try
        {
            using (outputs)
            {
                if (await Ordered!.TurnAsync(id).ConfigureAwait(false))
                {
                    // The sequence is the user's code, so it belongs on the scheduler.
                    await Task.Factory.StartNew(
                        () =>
                        {
                            while (!IsDropped && outputs.MoveNext())
                            {
                                ReserveRoom(1);
                                AddOutput(outputs.Current);
                            }
                        },
                        CancellationToken.None,
                        TaskCreationOptions.DenyChildAttach,
                        Options.Scheduler).ConfigureAwait(false);
                }
            }
        }
        finally
        {
            EmitEnd(id, null, count: 1, here: false);
        }
    }

    private async Task Enumerate(IAsyncEnumerable<TOut>? outputs, long id)
    {
        int count = 0;
        bool isTurn = Ordered is null;
        try
        {
            if (outputs is not null)
            {
                await foreach (TOut output in outputs.WithCancellation(Options.Token).ConfigureAwait(false))
                {
                    if (!EmitOne(id, output, ref count, ref isTurn))
                    {
                        isTurn = await Ordered!.TurnAsync(id).ConfigureAwait(false);
                    }

                    if (IsDropped)
                    {
                        break;
                    }
                }
            }
        }
        finally
        {
            EmitEnd(id, null, count, here: false);
        }
    }

    /// <summary>Sends an output, or keeps it until it is the message's turn.</summary>
    /// <param name="id">The message.</param>
    /// <param name="output">The output. It counts towards the capacity. The first one of a message takes the message's place.</param>
    /// <param name="count">How many the message had.</param>
    /// <param name="isTurn">Whether it is known to be the message's turn, which then lasts until its end.</param>
    /// <returns>Whether the call may go on. Otherwise it keeps as many outputs as the block may have, and has to wait for its turn.</returns>
    private bool EmitOne(long id, TOut output, ref int count, ref bool isTurn)
    {
        if (++count > 1)
        {
            ReserveRoom(1);
        }

        int kept = 0;
        isTurn = isTurn || !Ordered!.TryKeep(id, output, out kept);
        if (isTurn)
        {
            AddOutput(output);
        }

        return isTurn || kept < Options.Capacity;
    }

    /// <summary>Sends all outputs of a message one right after the other.</summary>
    /// <returns>Null if that is done. Otherwise they are sent when it is the message's turn.</returns>
    private List<TOut>? EmitTogether(ReadOnlySpan<TOut> outputs, ref int count)
    {
        // Outputs that wait are the block's own: the delegate may use its list again.
        List<TOut>? all = Ordered is null ? null : [.. outputs];
        count = outputs.Length;
        if (count > 1)
        {
            ReserveRoom(count - 1);
        }

        if (all is null)
        {
            AfterLocks after = default;
            try
            {
                Source.Add(outputs, ref after);
            }
            finally
            {
                after.Run();
            }
        }

        return all;
    }

    private void EmitEnd(long id, List<TOut>? all, int count, bool here)
    {
        Ordered?.End(id, all);
        if (count == 0)
        {
            Free(1, here);
        }
    }

    private void ReserveRoom(int more)
    {
        if (IsBounded)
        {
            LockOwner? key = StateLock.Enter();
            AddUsedNeedsLock(more);
            StateLock.Exit(key);
        }
    }
}
