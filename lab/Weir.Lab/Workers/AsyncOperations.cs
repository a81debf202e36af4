namespace Weir.Lab.Workers;

/// <summary>The loop of an asynchronous worker whose operation has no result.</summary>
/// <remarks>
/// It awaits the operation itself: another method between them would cost a state machine per operation, which would be counted as the operation's.
/// </remarks>
internal sealed class AsyncOperation<TCall>(TCall call) : Operation(isAsync: true)
    where TCall : struct, IAsyncCall
{
    internal override Operation Empty() => call.Empty();

    internal override async Task LoopAsync(WorkerSlot slot)
    {
        while (true)
        {
            // A loop whose operations never suspend would keep its pool thread, and the others from starting.
            if (slot.MustYield)
            {
                await Task.Yield();
                slot.HasYielded();
            }

            if (slot.IsPaced)
            {
                await slot.StartIsDueAsync().ConfigureAwait(false);
            }

            int count = slot.IsPaced ? slot.Take() : slot.Next();
            if (count == 0)
            {
                return;
            }

            int done = 0;
            try
            {
                long before = slot.Mark;
                for (; done < count - 1; done++)
                {
                    await call.StartAsync().ConfigureAwait(false);
                }

                if (count > 1)
                {
                    before = Stopwatch.GetTimestamp();
                }

                await call.StartAsync().ConfigureAwait(false);
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
}

/// <summary>The loop of an asynchronous worker whose operation has a result, which is consumed.</summary>
internal sealed class AsyncOperation<TCall, T>(TCall call) : Operation(isAsync: true)
    where TCall : struct, IAsyncCall<T>
{
    internal override Operation Empty() => call.Empty();

    internal override async Task LoopAsync(WorkerSlot slot)
    {
        while (true)
        {
            if (slot.MustYield)
            {
                await Task.Yield();
                slot.HasYielded();
            }

            if (slot.IsPaced)
            {
                await slot.StartIsDueAsync().ConfigureAwait(false);
            }

            int count = slot.IsPaced ? slot.Take() : slot.Next();
            if (count == 0)
            {
                return;
            }

            int done = 0;
            try
            {
                long before = slot.Mark;
                for (; done < count - 1; done++)
                {
                    call.Take(await call.StartAsync().ConfigureAwait(false));
                }

                if (count > 1)
                {
                    before = Stopwatch.GetTimestamp();
                }

                call.Take(await call.StartAsync().ConfigureAwait(false));
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
}
