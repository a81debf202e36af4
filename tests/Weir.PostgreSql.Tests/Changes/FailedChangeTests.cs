using System.Text;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>Changes whose mapping throws: the stream stops before them, leaves them out or keeps them, and its position tells exactly what is done.</summary>
public sealed class FailedChangeTests(PostgresServer server) : ChangeTest(server)
{
    private readonly List<DeadLetter> _heard = [];

    [Fact(Timeout = Limit)]
    public async Task Stop_ByDefault_StaysBeforeTheChange()
    {
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { MaxChangesPerBatch = 1, OnFailedChange = _heard.Add });
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a'), (2, 'bad'), (3, 'c')");
        await using (IWorkSource<string> source = await stream.OpenSourceAsync(Good))
        {
            Assert.Equal(["+1=a"], await TakeAsync(source, 1));
            WorkSetupException stopped = await Assert.ThrowsAsync<WorkSetupException>(() => NextAsync(source));
            Assert.Contains($"{Assert.Single(_heard).Id} (Insert of {Schema}.rows) cannot be read: its mapping failed: no bad ones.", stopped.Message,
                StringComparison.Ordinal);
        }

        Assert.EndsWith(":1", await Checkpoints.LoadAsync(Slot), StringComparison.Ordinal);
        await using IWorkSource<string> mended = await stream.OpenSourceAsync(Text);
        Assert.Equal(["+2=bad", "+3=c"], await TakeAsync(mended, 2));
    }

    [Fact(Timeout = Limit)]
    public async Task DeadLetter_OfAStoreThatIsAwayAtFirst_IsThereBeforeAnyPositionBehindIt()
    {
        FailingLetters letters = new(failures: 2);
        await using PostgresChangeSource stream = await NewStreamAsync(
            Quiet with { OnError = PostgresChangeErrorMode.DeadLetter, DeadLetters = letters, OnFailedChange = _heard.Add, MaxChangesPerBatch = 2 });
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a'), (2, 'bad'), (3, 'c')");
        string before = (await Checkpoints.LoadAsync(Slot))!;
        await using IWorkSource<string> source = await stream.OpenSourceAsync(Good);
        for (int i = 0; i < 2; i++)
        {
            await Assert.ThrowsAsync<IOException>(() => NextAsync(source));
            Assert.Empty(_heard);
        }

        Assert.Equal(["+1=a", "+3=c"], await TakeAsync(source, 2));
        Assert.NotEqual(before, await Checkpoints.LoadAsync(Slot));
        DeadLetter letter = Assert.Single(letters.Kept.DistinctBy(static l => l.Id));
        Assert.Same(letter, _heard[0]);
        Assert.Equal((DeadLetterReason.Rejected, Slot, $"{Schema}.rows:2"), (letter.Reason, letter.Source, letter.Key));
        Assert.Matches($"^{Slot}:[0-9A-F]+/[0-9A-F]+/1$", letter.Id);
        Assert.Contains("\"key\":{\"id\":2},\"new\":{\"id\":2,\"value\":\"bad\"},", Encoding.UTF8.GetString(letter.Payload.Span), StringComparison.Ordinal);
        Assert.Contains("InvalidOperationException: no bad ones.", letter.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Skip_AllOfATransaction_MovesThePositionOn()
    {
        await using PostgresChangeSource stream = await NewStreamAsync(
            Quiet with { OnError = PostgresChangeErrorMode.Skip, OnFailedChange = static _ => throw new InvalidOperationException("mine") });
        await using IWorkSource<string> source = await stream.OpenSourceAsync(Good);
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'bad'), (2, 'bad')");
        WorkBatch<string> empty = await NextAsync(source);
        Assert.Empty(empty.Items);
        await source.AcknowledgeAsync([empty], CancellationToken.None);
        await source.DisposeAsync();
        await ExecuteAsync($"INSERT INTO {Table} VALUES (3, 'c')");
        await using IWorkSource<string> next = await stream.OpenSourceAsync(Text);
        Assert.Equal(["+3=c"], await TakeAsync(next, 1));
    }

    [Fact]
    public void Options_ThatDoNotFit_AreNamed()
    {
        Assert.Contains("OnError", Assert.Throws<ArgumentOutOfRangeException>(() => Stream(Quiet with { OnError = (PostgresChangeErrorMode)3 })).Message,
            StringComparison.Ordinal);
        Assert.Equal("DeadLetters", Assert.Throws<ArgumentException>(() => Stream(Quiet with { OnError = PostgresChangeErrorMode.DeadLetter })).ParamName);
        Assert.Equal("DeadLetters", Assert.Throws<ArgumentException>(() => Stream(Quiet with { DeadLetters = new FailingLetters(0) })).ParamName);
    }

    private static string Good(PostgresChange change) =>
        change.New?["value"] is "bad" ? throw new InvalidOperationException("no bad ones.") : Text(change);

    /// <summary>A store that is away for its first calls.</summary>
    private sealed class FailingLetters(int failures) : IDeadLetters
    {
        private int _left = failures;

        public List<DeadLetter> Kept { get; } = [];

        public ValueTask AddAsync(IReadOnlyList<DeadLetter> letters, CancellationToken cancellationToken = default)
        {
            if (_left-- > 0)
            {
                throw new IOException("The store is away.");
            }

            Kept.AddRange(letters);
            return default;
        }

        public IAsyncEnumerable<DeadLetter> ListAsync(int limit = 100, CancellationToken cancellationToken = default) => throw new NotSupportedException();

        public ValueTask<DeadLetter?> FindAsync(string id, CancellationToken cancellationToken = default) => throw new NotSupportedException();

        public ValueTask<int> ReplayAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) => throw new NotSupportedException();

        public ValueTask<int> RemoveAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) => throw new NotSupportedException();
    }
}
