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
            EmitAll(item, id, null, here: true);
            return true;
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

    protected override void TaskDone(TIn item, long id, Task? task, bool here)
    {
        if (_streamTransform is not null)
        {
            // Its outputs were sent as they came. Only its end has to be reported.
            TaskFailed(item, task);
        }
        else if (task is { IsCompletedSuccessfully: true })
        {
            EmitAll(item, id, (Task<IEnumerable<TOut>>)task, here);
        }
        else
        {
            TaskFailed(item, task);
            EmitNothing(item, id, here);
        }
    }

    /// <summary>Sends what the delegate returned: one by one if the order allows it; otherwise all together when everything is there.</summary>
    private void EmitAll(TIn item, long id, Task<IEnumerable<TOut>>? task, bool here)
    {
        int count = 0;
        List<TOut>? held = null;
        try
        {
            IEnumerable<TOut>? outputs = task is null ? _transform!(item) : task.Result;
            if (outputs is not null && Ordered is not null)
            {
                // Outputs before an exception are kept.
                held = [];
                held.AddRange(outputs);
            }
            else if (outputs is TOut[] array && Options.Parallelism > 1)
            {
                EmitTogether(array, ref count);
            }
            else if (outputs is List<TOut> list && Options.Parallelism > 1)
            {
                EmitTogether(CollectionsMarshal.AsSpan(list), ref count);
            }
            else if (outputs is not null)
            {
                foreach (TOut output in outputs)
                {
                    EmitOne(output, ref count);
                }
            }
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }

        try
        {
            EmitEnd(id, held, count, here);
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }
    }

    private async Task Enumerate(IAsyncEnumerable<TOut>? outputs, long id)
    {
        int count = 0;
        List<TOut>? held = null;
        try
        {
            if (outputs is not null)
            {
                await foreach (TOut output in outputs.ConfigureAwait(false))
                {
                    if (Ordered is not null)
                    {
                        (held ??= []).Add(output);
                    }
                    else
                    {
                        EmitOne(output, ref count);
                    }
                }
            }
        }
        finally
        {
            EmitEnd(id, held, count, here: false);
        }
    }

    // Each output counts towards the capacity. The first output of a message takes the place of the message.
    private void EmitOne(TOut output, ref int count)
    {
        if (++count > 1)
        {
            ReserveRoom(1);
        }

        AddOutput(output);
    }

    private void EmitTogether(ReadOnlySpan<TOut> outputs, ref int count)
    {
        count = outputs.Length;
        if (count > 1)
        {
            ReserveRoom(count - 1);
        }

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

    private void EmitEnd(long id, List<TOut>? held, int count, bool here)
    {
        if (Ordered is not null)
        {
            count = held?.Count ?? 0;
            if (count > 1)
            {
                ReserveRoom(count - 1);
            }

            Ordered.Add(id, held);
        }

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
