namespace Weir.Delivery.Cli.Commands.Work.Execution;

/// <summary>A source that ends when nothing has come for some time.</summary>
/// <param name="inner">The source.</param>
/// <param name="patience">The time.</param>
/// <param name="clock">Measures it.</param>
/// <param name="isDone">
/// Asks whether everything is done that was there at the first look, given whether an item has come since the last one; <see langword="null"/> if nobody knows.
/// </param>
internal sealed class IdleSource<T>(
    IWorkSource<T> inner, TimeSpan patience, TimeProvider clock, Func<bool, CancellationToken, ValueTask<bool>>? isDone = null) : IWorkSource<T>
{
    private static readonly TimeSpan s_least = TimeSpan.FromMilliseconds(1);

    private TimeSpan _silence;
    private bool _isFirstLook = true;

    public string MessagingSystem => inner.MessagingSystem;

    public string Name => inner.Name;

    public IWorkSerializer<T>? Serializer => inner.Serializer;

    public AcknowledgementOrder Order => inner.Order;

    public IRedelivery<T>? Redelivery => inner.Redelivery;

    public IItemAcknowledgement<T>? ItemAcknowledgement => inner.ItemAcknowledgement;

    public async ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            TimeSpan rest = patience - _silence;
            using CancellationTokenSource limit = new(rest > s_least ? rest : s_least, clock);
            using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, cancellationToken);
            long start = clock.GetTimestamp();
            try
            {
                WorkBatch<T>? batch = await inner.ReadAsync(stop.Token);

                // A position alone is nothing that comes.
                bool isSilence = batch is { Items.Count: 0 };
                _silence = isSilence ? _silence + clock.GetElapsedTime(start) : TimeSpan.Zero;
                _isFirstLook |= !isSilence;
                return batch;
            }
            catch (OperationCanceledException) when (limit.IsCancellationRequested && !cancellationToken.IsCancellationRequested)
            {
                if (isDone is null || await isDone(_isFirstLook, cancellationToken))
                {
                    return null;
                }

                (_silence, _isFirstLook) = (TimeSpan.Zero, false);
            }
        }
    }

    public ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken) =>
        inner.AcknowledgeAsync(batches, cancellationToken);

    public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken) =>
        inner.ReturnAsync(batches, cancellationToken);

    public ValueTask DisposeAsync() => inner.DisposeAsync();
}
