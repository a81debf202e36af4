using Weir.Lab.Workers;

namespace Weir.Audit.Load.Passes;

/// <summary>An open load: messages are due at a steady rate, whatever becomes of those before.</summary>
internal sealed class PacedStarts : IMessageStarts
{
    private readonly Pacer _pacer;
    private readonly int _publishers;

    /// <param name="messagesPerSecond">The rate.</param>
    /// <param name="messages">How many there are; no more than that are due at once.</param>
    /// <param name="publishers">How many may wait at once.</param>
    public PacedStarts(double messagesPerSecond, int messages, int publishers)
    {
        _publishers = publishers;
        _pacer = new Pacer(messagesPerSecond, messages);
        _pacer.Start(TimeSpan.Zero, TimeSpan.FromSeconds(messages / messagesPerSecond));
    }

    public long LateStarts => _pacer.LateStarts;

    public async ValueTask<int> TakeAsync(Memory<long> intended, CancellationToken cancellationToken)
    {
        await _pacer.Starts.WaitAsync(cancellationToken);
        int count = 0;
        do
        {
            if (!_pacer.TryTake(out PacedStart start))
            {
                break;
            }

            _pacer.Started(Stopwatch.GetTimestamp() - start.Intended);
            intended.Span[count++] = start.Intended;
        }
        while (count < intended.Length && _pacer.Starts.Wait(0, CancellationToken.None));

        // The pacer gives none only when it was stopped.
        return count > 0 ? count : throw new OperationCanceledException("The pass was stopped.");
    }

    public void Published(int messages)
    {
        for (int i = 0; i < messages; i++)
        {
            _pacer.Ended(counts: true);
        }
    }

    public void Done(int items)
    {
    }

    public void Dispose()
    {
        _pacer.Stop(_publishers);
        _pacer.Dispose();
    }
}
