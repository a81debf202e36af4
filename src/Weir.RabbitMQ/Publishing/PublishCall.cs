using System.Globalization;

namespace Weir.RabbitMQ;

/// <summary>The messages of one call, and what became of them.</summary>
internal sealed class PublishCall
{
    private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _lock = new();
    private readonly List<string> _refused = [];
    private Exception? _failure;
    private int _pending = 1;

    public void Begin() => Interlocked.Increment(ref _pending);

    public void Confirm() => End();

    public void Refuse(string messageId)
    {
        lock (_lock)
        {
            _refused.Add(messageId);
        }

        End();
    }

    public void Fail(Exception failure)
    {
        lock (_lock)
        {
            _failure ??= failure;
        }

        End();
    }

    /// <summary>Waits until each message has an outcome.</summary>
    /// <exception cref="RabbitRefusedException">Some were refused.</exception>
    public async ValueTask WaitAsync(CancellationToken cancellationToken)
    {
        End();
        await _done.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        if (_failure is not null)
        {
            System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw(_failure);
        }

        if (_refused.Count > 0)
        {
            string first = string.Join(", ", _refused.Take(3));
            throw new RabbitRefusedException(
                string.Create(CultureInfo.InvariantCulture, $"RabbitMQ refused {_refused.Count} messages, first {first}: the queue is full or has failed."),
                _refused);
        }
    }

    private void End()
    {
        if (Interlocked.Decrement(ref _pending) == 0)
        {
            _done.TrySetResult();
        }
    }
}
