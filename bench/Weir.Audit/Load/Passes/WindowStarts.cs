namespace Weir.Audit.Load.Passes;

/// <summary>A closed load: a message may be published when few enough items are in flight.</summary>
internal sealed class WindowStarts(int messages, int itemsPerMessage) : IMessageStarts
{
    private readonly SemaphoreSlim _room = new(messages);
    private long _done;

    public long LateStarts => 0;

    public async ValueTask<int> TakeAsync(Memory<long> intended, CancellationToken cancellationToken)
    {
        await _room.WaitAsync(cancellationToken);
        int count = 1;
        while (count < intended.Length && _room.Wait(0, CancellationToken.None))
        {
            count++;
        }

        intended.Span[..count].Fill(Stopwatch.GetTimestamp());
        return count;
    }

    public void Published(int messages)
    {
    }

    public void Done(int items)
    {
        // There is room for a message whenever as many items are done, of whichever messages.
        long after = Interlocked.Add(ref _done, items);
        int room = (int)((after / itemsPerMessage) - ((after - items) / itemsPerMessage));
        if (room > 0)
        {
            _room.Release(room);
        }
    }

    // An item can be done after its pass was given up, so the room is left to the garbage collector; without a wait handle it has nothing to release.
    public void Dispose()
    {
    }
}
