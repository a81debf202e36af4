using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Threading.Channels;

namespace Weir.Explore.Tests.Agreement;

/// <content>What threads hand over to each other. Channels are the platform's own code, rewritten; a bag is the platform's, one operation at a time.</content>
internal static partial class Programs
{
    private sealed class BagProgram : SmallProgram
    {
        private readonly ConcurrentBag<int> _bag = [];
        private int _last;

        public BagProgram()
        {
            Add("Add", () => _bag.Add(Interlocked.Increment(ref _last)));
            Add("Add two", () =>
            {
                _bag.Add(Interlocked.Increment(ref _last));
                _bag.Add(Interlocked.Increment(ref _last));
            });
            Add("TryTake", () => Bit(_bag.TryTake(out int item)) + Number(item));
            Add("TryPeek", () => Bit(_bag.TryPeek(out int item)) + Number(item));
            Add("Count", () => Number(_bag.Count) + Bit(_bag.IsEmpty));
            Add("ToArray", () => string.Join(',', _bag.ToArray().Order()));
            Add("Clear", _bag.Clear);
        }

        protected override Task<string> EndAsync() => Task.FromResult(string.Join(',', _bag.Order()));
    }

    /// <summary>Concurrent collections by their interfaces, by delegates, one element after the other and by another kind of key.</summary>
    private sealed class IndirectProgram : SmallProgram
    {
        private readonly ConcurrentDictionary<int, int> _map = new(1, 31) { [5] = 5 };
        private readonly ConcurrentDictionary<string, int> _names = new();
        private readonly ConcurrentQueue<int> _queue = new();

        public IndirectProgram()
        {
            IDictionary<int, int> map = _map;
            IProducerConsumerCollection<int> items = _queue;
            IReadOnlyCollection<int> seen = _queue;
            Action<int> enqueue = _queue.Enqueue;
            Func<int, int, bool> add = _map.TryAdd;
            Add("add two", () =>
            {
                map[1] = 1;
                map.Add(9, 9);
            });
            Add("Remove two", () => Bit(map.Remove(9)) + Bit(map.Remove(1)));
            Add("foreach", () =>
            {
                string all = "";
                foreach ((int key, int _) in _map)
                {
                    all += Number(key);
                }

                return all;
            });
            Add("enqueue two", () =>
            {
                enqueue(1);
                enqueue(2);
            });
            Add("TryAdd, TryTake", () => Bit(items.TryAdd(3)) + Bit(items.TryTake(out int item)) + Number(item));
            Add("Count twice", () => Number(seen.Count) + Number(seen.Count));
            Add("add by delegate", () => Bit(add(1, 4)) + Bit(add(9, 4)));
            Add("by span", () =>
            {
                ConcurrentDictionary<string, int>.AlternateLookup<ReadOnlySpan<char>> names = _names.GetAlternateLookup<ReadOnlySpan<char>>();
                return Bit(names.TryAdd("a", 1)) + Bit(names.TryAdd("b", 2));
            });
            Add("by name", () => Bit(_names.TryAdd("b", 3)) + Bit(_names.TryAdd("a", 4)));
        }

        protected override Task<string> EndAsync() =>
            Task.FromResult($"{string.Join(',', _map.OrderBy(static m => m.Key))} {string.Join(',', _queue)} {string.Join(',', _names.OrderBy(static n => n.Key))}");
    }

    private sealed class ImmutableProgram : SmallProgram
    {
        private ImmutableDictionary<int, int> _map = ImmutableDictionary<int, int>.Empty;
        private ImmutableQueue<int> _queue = [];

        public ImmutableProgram()
        {
            Add("TryAdd", () => Bit(ImmutableInterlocked.TryAdd(ref _map, 1, 6)));
            Add("TryRemove", () => Bit(ImmutableInterlocked.TryRemove(ref _map, 1, out int removed)) + Number(removed));
            Add("TryUpdate", () => Bit(ImmutableInterlocked.TryUpdate(ref _map, 1, 8, 6)));
            Add("Exchange", () => Number(Interlocked.Exchange(ref _map, ImmutableDictionary<int, int>.Empty.Add(1, 6)).Count));
            Add("Enqueue", () => ImmutableInterlocked.Enqueue(ref _queue, 7));
            Add("TryDequeue", () => Bit(ImmutableInterlocked.TryDequeue(ref _queue, out int item)) + Number(item));
        }

        protected override Task<string> EndAsync() =>
            Task.FromResult($"{string.Join(',', _map.OrderBy(static e => e.Key))} {string.Join(',', _queue)}");
    }

    private sealed class ChannelProgram : SmallProgram
    {
        private const int Reads = 6;
        private readonly Channel<int> _channel;
        private readonly CancellationTokenSource _source = new();
        private readonly bool _hasOneReader;
        private int _last;

        public ChannelProgram(Channel<int> channel, bool hasOneReader = false)
        {
            (_channel, _hasOneReader) = (channel, hasOneReader);
            ChannelReader<int> reader = channel.Reader;
            ChannelWriter<int> writer = channel.Writer;
            Add("TryRead", () => Bit(reader.TryRead(out int item)) + Number(item));
            AddLater("ReadAsync", () => reader.ReadAsync().AsTask());
            AddLater("ReadAsync(token)", () => reader.ReadAsync(_source.Token).AsTask());
            AddLater("WaitToReadAsync", () => reader.WaitToReadAsync().AsTask());
            AddLater("WaitToReadAsync(token)", () => reader.WaitToReadAsync(_source.Token).AsTask());
            AddLater("Completion", () => reader.Completion);
            Add("TryWrite", () => Bit(writer.TryWrite(Interlocked.Increment(ref _last))));
            AddLater("WriteAsync", () => writer.WriteAsync(Interlocked.Increment(ref _last)).AsTask());
            AddLater("WriteAsync(token)", () => writer.WriteAsync(Interlocked.Increment(ref _last), _source.Token).AsTask());
            AddLater("WaitToWriteAsync(token)", () => writer.WaitToWriteAsync(_source.Token).AsTask());
            Add("TryComplete", () => Bit(writer.TryComplete()));
            Add("Complete(error)", () => writer.Complete(new ArgumentException("known")));
            Add("Cancel", _source.Cancel);
        }

        /// <summary>The first thread reads, and the others do not.</summary>
        protected override (int From, int To) OfThread(int thread)
        {
            (int from, int to) = base.OfThread(thread);
            return !_hasOneReader ? (from, to) : thread == 0 ? (0, Reads) : (Reads, to);
        }

        protected override Task<string> EndAsync()
        {
            _channel.Writer.TryComplete();
            List<int> left = [];
            while (_channel.Reader.TryRead(out int item))
            {
                left.Add(item);
            }

            return Task.FromResult(string.Join(',', left));
        }
    }
}
