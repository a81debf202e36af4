using System.Threading.Channels;

namespace Weir.TestKit;

/// <summary>
/// The numbers from 0 on, in any of the ways in which items come to an operator. Exactly one of <see cref="Sequence"/>,
/// <see cref="AsyncSequence"/> and <see cref="Channel"/> is there. All kinds but arrays, lists, ranges and real channels record what is done to them.
/// </summary>
public sealed class TestSource
{
    private TestSource(SourceKind kind, SourcePlan plan)
    {
        Kind = kind;
        Record = plan.Record;
        switch (kind)
        {
            case SourceKind.Array:
                Sequence = Enumerable.Range(0, plan.Count!.Value).ToArray();
                break;
            case SourceKind.List:
                Sequence = Enumerable.Range(0, plan.Count!.Value).ToList();
                break;
            case SourceKind.Range:
                Sequence = Enumerable.Range(0, plan.Count!.Value);
                break;
            case SourceKind.Collection:
                Sequence = new RecordedCollection(plan);
                break;
            case SourceKind.Lazy:
                Sequence = new RecordedSequence(plan);
                break;
            case SourceKind.AsyncImmediate:
            case SourceKind.AsyncSuspending:
                AsyncSequence = new RecordedAsyncSequence(plan, kind == SourceKind.AsyncSuspending);
                break;
            default:
                Channel = new RecordedChannelReader(plan);
                break;
        }
    }

    private TestSource(IEnumerable<int> sequence)
    {
        Kind = SourceKind.Range;
        Record = new SourceRecord();
        Sequence = sequence;
    }

    private TestSource(IAsyncEnumerable<int> sequence)
    {
        Kind = SourceKind.AsyncSuspending;
        Record = new SourceRecord();
        AsyncSequence = sequence;
    }

    public SourceKind Kind { get; }

    public SourceRecord Record { get; }

    /// <summary>Whether the items are the numbers from 0 on, and not those of a sequence of the test's own.</summary>
    public bool IsNumbered { get; private init; } = true;

    public IEnumerable<int>? Sequence { get; }

    public IAsyncEnumerable<int>? AsyncSequence { get; }

    public ChannelReader<int>? Channel { get; }

    /// <summary>Whether the source has an end of its own that has to be reached, which a channel's reader and an array have not.</summary>
    public bool IsDisposable => Kind is SourceKind.Collection or SourceKind.Lazy or SourceKind.AsyncImmediate or SourceKind.AsyncSuspending;

    public static TestSource Of(SourceKind kind, int count) => new(kind, new SourcePlan { Count = count });

    /// <summary>A sequence of the test's own.</summary>
    public static TestSource Over(IEnumerable<int> sequence) => new(sequence) { IsNumbered = false };

    /// <summary>An asynchronous sequence of the test's own.</summary>
    public static TestSource Over(IAsyncEnumerable<int> sequence) => new(sequence) { IsNumbered = false };

    public static TestSource Endless(SourceKind kind) => new(kind, new SourcePlan());

    public static TestSource Of(SourceKind kind, SourcePlan plan)
    {
        ArgumentNullException.ThrowIfNull(plan);
        return new(kind, plan);
    }

    /// <summary>An enumerator's own checks, shared by all kinds: no two enumerators and no two steps at once, and each is disposed once.</summary>
    public void AssertUsedWell()
    {
        if (Record.Faults > 0)
        {
            throw new InvalidOperationException($"The {Kind} source was stepped {Record.Faults} times while another step ran, or after its end.");
        }

        // The items of a collection that never ran are read for their outcomes when the run has ended.
        int most = Kind == SourceKind.Collection ? 2 : 1;
        if (IsDisposable && (Record.Opened > most || Record.Closed != Record.Opened))
        {
            throw new InvalidOperationException($"The {Kind} source was opened {Record.Opened} times and disposed {Record.Closed} times.");
        }
    }
}
