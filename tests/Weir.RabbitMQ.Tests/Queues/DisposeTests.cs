using System.Collections;
using System.Diagnostics.CodeAnalysis;
using RabbitMQ.Client;
using Weir.Lab.Network;
using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>A queue that is disposed while something of it is under way: nothing waits for ever, and nothing is left open.</summary>
public sealed class DisposeTests(RabbitServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Dispose_ASourceIsBeingOpened_TheCallFailsAndNoConnectionIsLeft()
    {
        using Gate connecting = new();
        using Gate goOn = new();
        await (await NewQueueAsync()).DisposeAsync();
        RabbitWorkQueue<string> queue = Queue(o => o with { ConfigureConnection = Hold });
        Task<IWorkSource<string>> opening = Task.Run(async () => await queue.OpenSourceAsync());
        await connecting.WaitAsync();
        Task disposing = queue.DisposeAsync().AsTask();
        goOn.Open();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => opening.WithinAsync("opening the source"));
        await disposing.WithinAsync("the end of the queue");

        void Hold(ConnectionFactory factory)
        {
            if (factory.ClientProvidedName!.EndsWith("consumer", StringComparison.Ordinal))
            {
                connecting.Open();
                goOn.Wait();
            }
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Dispose_LostMessagesAreBeingPublishedAgain_EachCallFails()
    {
        await using var proxy = new FaultProxy(Server.Worker.Host, Server.Worker.Port);
        await (await NewQueueAsync()).DisposeAsync();
        RabbitWorkQueue<string> queue = Queue(broker: new UriBuilder(Server.Worker) { Host = "127.0.0.1", Port = proxy.Port }.Uri);
        await queue.OpenSinkAsync();
        proxy.Stall();
        using Gate again = new();
        using Gate goOn = new();
        HeldHeaders[] headers = [new(again, goOn), new(again, goOn)];
        Task lost = queue.Publisher.PublishAsync([Message("first", headers[0]), Message("second", headers[1])], CancellationToken.None).AsTask();
        await Guard.UntilAsync(() => headers[1].Reads > 0, "The second message");

        // The next call has the turn before anybody recovers, and so publishes the two again.
        using Gate cut = new();
        using Gate turn = new();
        Task use = queue.Publisher.UseAsync(
            async _ =>
            {
                await cut.WaitAsync();
                proxy.Cut();
                await turn.WaitAsync();
            },
            CancellationToken.None).AsTask();
        Task next = queue.Publisher.PublishAsync([Message("third", null)], CancellationToken.None).AsTask();
        cut.Open();
        await Guard.UntilAsync(() => queue.Publisher.Lost == 2, "The end of the connection");
        headers[0].Hold();
        proxy.Resume();
        turn.Open();
        await again.WaitAsync();
        await queue.DisposeAsync().AsTask().WithinAsync("the end of the queue");
        goOn.Open();
        await next.EndsAsync("the call that published again");
        await Assert.ThrowsAsync<ObjectDisposedException>(() => lost.WithinAsync("the call whose messages were lost"));
        await use.WithinAsync();
    }

    private Outgoing Message(string id, IDictionary<string, object?>? headers)
    {
        var message = new Outgoing(Name, id, "", [0], 1);
        message.Properties.Headers = headers;
        return message;
    }

    /// <summary>Headers that hold whoever writes them.</summary>
    [SuppressMessage("Design", "CA1010", Justification = "It is a dictionary, which is what the client takes.")]
    private sealed class HeldHeaders(Gate reached, Gate goOn) : IDictionary<string, object?>
    {
        private readonly Dictionary<string, object?> _headers = new(StringComparer.Ordinal) { ["a"] = "b" };
        private volatile bool _holds;
        private int _reads;

        public int Reads => Volatile.Read(ref _reads);

        public void Hold() => _holds = true;

        public ICollection<string> Keys => _headers.Keys;

        public ICollection<object?> Values => _headers.Values;

        public int Count => _headers.Count;

        public bool IsReadOnly => false;

        public object? this[string key]
        {
            get => _headers[key];
            set => _headers[key] = value;
        }

        public IEnumerator<KeyValuePair<string, object?>> GetEnumerator()
        {
            Interlocked.Increment(ref _reads);
            if (_holds)
            {
                reached.Open();
                goOn.Wait();
            }

            return _headers.GetEnumerator();
        }

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

        public void Add(string key, object? value) => _headers.Add(key, value);

        public void Add(KeyValuePair<string, object?> item) => _headers.Add(item.Key, item.Value);

        public void Clear() => _headers.Clear();

        public bool Contains(KeyValuePair<string, object?> item) => _headers.Contains(item);

        public bool ContainsKey(string key) => _headers.ContainsKey(key);

        public void CopyTo(KeyValuePair<string, object?>[] array, int arrayIndex) => ((IDictionary<string, object?>)_headers).CopyTo(array, arrayIndex);

        public bool Remove(string key) => _headers.Remove(key);

        public bool Remove(KeyValuePair<string, object?> item) => _headers.Remove(item.Key);

        public bool TryGetValue(string key, out object? value) => _headers.TryGetValue(key, out value);
    }
}
