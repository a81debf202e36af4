namespace Weir.Lab.Workers;

/// <summary>The loop of a synchronous worker.</summary>
/// <remarks>
/// The operations are called from <see cref="Repeat"/>, which is itself called all the time: a loop in a method that is called once would stay for ever in
/// the code that replaces it while it runs, which is a fifth slower. It is compiled for good at once, and not by what was called before: the compiler would
/// put the body of the one delegate that it has seen into the loop, and whether an operation or an empty one is called would make a difference of its own.
/// </remarks>
internal abstract class SyncOperation() : Operation(isAsync: false)
{
    internal sealed override void Loop(WorkerSlot slot)
    {
        int count;
        while ((count = slot.IsPaced ? slot.NextStart() : slot.NextOfThread()) > 0)
        {
            int done = 0;
            try
            {
                if (!slot.Time)
                {
                    Repeat(count, ref done);
                    slot.Done(count);
                    continue;
                }

                // Of a batch of short operations only the last is timed.
                long before = slot.Mark;
                if (count > 1)
                {
                    Repeat(count - 1, ref done);
                    before = Stopwatch.GetTimestamp();
                }

                Repeat(1, ref done);
                slot.Done(count, before, Stopwatch.GetTimestamp());
            }
            catch (Exception error)
            {
                if (!slot.Failed(error, done))
                {
                    return;
                }
            }
        }
    }

    /// <summary>Calls the operation a number of times.</summary>
    /// <param name="count">How many times.</param>
    /// <param name="done">Grows by how many were completed, also when one of them throws.</param>
    private protected abstract void Repeat(int count, ref int done);
}

/// <summary>Calls an <see cref="Action"/>.</summary>
internal sealed class ActionOperation(Action call) : SyncOperation
{
    internal override Operation Empty() => new ActionOperation(call.Target is null ? EmptyCalls.Nothing : static () => { });

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private protected override void Repeat(int count, ref int done)
    {
        Action action = call;
        int i = 0;
        try
        {
            for (; i < count; i++)
            {
                action();
            }
        }
        finally
        {
            done += i;
        }
    }
}

/// <summary>Calls a <see cref="Func{TResult}"/> and consumes what the last call returns.</summary>
/// <remarks>
/// The compiler does not look into the delegate, so each result is made, whoever takes it. A call for each result would cost more in the empty operation's
/// loop than in one that waits for memory, and too much would be subtracted.
/// </remarks>
internal sealed class FuncOperation<T>(Func<T> call) : SyncOperation
{
    internal override Operation Empty() => new FuncOperation<T>(call.Target is null ? EmptyCalls.Nothing<T> : static () => default!);

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private protected override void Repeat(int count, ref int done)
    {
        Func<T> func = call;
        T last = default!;
        int i = 0;
        try
        {
            for (; i < count; i++)
            {
                last = func();
            }

            Sink.Consume(last);
        }
        finally
        {
            done += i;
        }
    }
}
