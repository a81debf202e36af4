using System.Threading.Channels;

namespace Weir.Explore.Model;

/// <summary>
/// A channel of the schedule. Each operation is one piece; who waits goes on on the schedule's pool. The platform's own channels go to the pool of the process,
/// which is not controlled.
/// </summary>
internal sealed class ChannelModel<T> : Channel<T>
{
    private readonly int _capacity;
    private readonly BoundedChannelFullMode _mode;
    private readonly Action<T>? _dropped;
    private readonly List<T> _items = [];
    private readonly List<TaskCompletionSource<bool>> _readers = [];
    private readonly List<TaskCompletionSource<bool>> _writers = [];
    private readonly TaskCompletionSource<bool> _completion = new();
    private bool _isDone;
    private Exception? _error;

    public ChannelModel(int capacity, BoundedChannelFullMode mode, Action<T>? dropped)
    {
        (_capacity, _mode, _dropped) = (capacity, mode, dropped);
        Reader = new ReaderModel(this);
        Writer = new WriterModel(this);
    }

    private bool TryRead(out T item)
    {
        if (_items.Count == 0)
        {
            item = default!;
            return false;
        }

        item = _items[0];
        _items.RemoveAt(0);
        Wake(_writers, true);
        CompleteIfEmpty();
        return true;
    }

    private bool TryWrite(T item)
    {
        if (_isDone)
        {
            return false;
        }

        if (_items.Count >= _capacity)
        {
            if (_mode == BoundedChannelFullMode.Wait)
            {
                return false;
            }

            int index = _mode == BoundedChannelFullMode.DropOldest ? 0 : _items.Count - 1;
            T dropped = _mode == BoundedChannelFullMode.DropWrite ? item : _items[index];
            if (_mode != BoundedChannelFullMode.DropWrite)
            {
                _items.RemoveAt(index);
                _items.Add(item);
            }

            _dropped?.Invoke(dropped);
            return true;
        }

        _items.Add(item);
        Wake(_readers, true);
        return true;
    }

    private bool TryComplete(Exception? error)
    {
        if (_isDone)
        {
            return false;
        }

        (_isDone, _error) = (true, error);
        Wake(_readers, false);
        Wake(_writers, false);
        CompleteIfEmpty();
        return true;
    }

    private void CompleteIfEmpty()
    {
        if (_isDone && _items.Count == 0)
        {
            Wake([_completion], false);
        }
    }

    private ValueTask<bool> Wait(List<TaskCompletionSource<bool>> waiting, bool isReady, CancellationToken token)
    {
        if (token.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<bool>(token);
        }

        if (isReady || _isDone)
        {
            return isReady ? new(true) : _error is null ? new(false) : ValueTask.FromException<bool>(_error);
        }

        TaskCompletionSource<bool> waiter = new();
        waiting.Add(waiter);
        token.UnsafeRegister(
            (_, cancelled) =>
            {
                if (waiting.Remove(waiter))
                {
                    Pool.QueueInside(() => waiter.SetCanceled(cancelled));
                }
            },
            null);
        return new(waiter.Task);
    }

    private void Wake(List<TaskCompletionSource<bool>> waiting, bool result)
    {
        foreach (TaskCompletionSource<bool> waiter in waiting)
        {
            Exception? error = result ? null : _error;
            Pool.QueueInside(() => _ = error is null ? waiter.TrySetResult(result) : waiter.TrySetException(error));
        }

        waiting.Clear();
    }

    private sealed class ReaderModel(ChannelModel<T> channel) : ChannelReader<T>
    {
        public override Task Completion => channel._completion.Task;

        public override bool CanCount => true;

        public override bool CanPeek => true;

        public override int Count => channel._items.Count;

        public override bool TryRead(out T item) => channel.TryRead(out item);

        public override bool TryPeek(out T item)
        {
            bool any = channel._items.Count > 0;
            item = any ? channel._items[0] : default!;
            return any;
        }

        public override ValueTask<bool> WaitToReadAsync(CancellationToken cancellationToken = default) =>
            channel.Wait(channel._readers, channel._items.Count > 0, cancellationToken);
    }

    private sealed class WriterModel(ChannelModel<T> channel) : ChannelWriter<T>
    {
        public override bool TryComplete(Exception? error = null) => channel.TryComplete(error);

        public override bool TryWrite(T item) => channel.TryWrite(item);

        public override ValueTask<bool> WaitToWriteAsync(CancellationToken cancellationToken = default) => channel.Wait(
            channel._writers,
            !channel._isDone && (channel._items.Count < channel._capacity || channel._mode != BoundedChannelFullMode.Wait), cancellationToken);
    }
}
