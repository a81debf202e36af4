namespace Weir.Tests.Operators.Support;

/// <summary>Over what the contract tests run.</summary>
public static class Cases
{
    public static readonly OperatorFamily[] Families = Enum.GetValues<OperatorFamily>();

    public static readonly OperatorFamily[] Streams = [.. Families.Where(static f => f.IsStream())];

    /// <summary>The families for which an item's failure can be the failure of the call.</summary>
    public static readonly OperatorFamily[] Throwing = [.. Families.Except([OperatorFamily.Outcomes])];

    public static readonly SourceKind[] Kinds = Enum.GetValues<SourceKind>();

    /// <summary>The sources that count what is done to them.</summary>
    public static readonly SourceKind[] Recorded =
        [SourceKind.Collection, SourceKind.Lazy, SourceKind.AsyncImmediate, SourceKind.AsyncSuspending, SourceKind.Channel];

    public static readonly SourceKind[] Few = [SourceKind.Array, SourceKind.Lazy, SourceKind.Channel];

    public static readonly ErrorMode[] Modes = Enum.GetValues<ErrorMode>();

    /// <summary>The sources that need not end.</summary>
    public static readonly SourceKind[] Unbounded = [SourceKind.Lazy, SourceKind.AsyncImmediate, SourceKind.AsyncSuspending, SourceKind.Channel];

    public static MatrixTheoryData<OperatorFamily, SourceKind> All() => new(Families, Kinds);

    /// <summary>One source of each way of reading, for tests that take real time or memory.</summary>
    public static MatrixTheoryData<OperatorFamily, SourceKind> AllFew() => new(Families, Few);

    public static MatrixTheoryData<OperatorFamily, SourceKind> UnboundedFewStreams() => new(Streams, [SourceKind.Lazy, SourceKind.AsyncSuspending]);

    public static PairwiseTheoryData<OperatorFamily, SourceKind, ErrorMode> AllModes() => new(Families, Kinds, Modes);

    public static MatrixTheoryData<OperatorFamily, SourceKind> AllThrowing() => new(Throwing, Kinds);

    public static MatrixTheoryData<OperatorFamily, SourceKind> AllRecorded() => new(Families, Recorded);

    public static PairwiseTheoryData<OperatorFamily, SourceKind, ErrorMode> AllRecordedModes() => new(Families, Recorded, Modes);

    public static PairwiseTheoryData<OperatorFamily, SourceKind, ErrorMode> AllUnboundedModes() => new(Families, Unbounded, Modes);

    public static MatrixTheoryData<OperatorFamily, SourceKind> AllStreams() => new(Streams, Kinds);

    public static MatrixTheoryData<OperatorFamily, SourceKind> RecordedStreams() => new(Streams, Recorded);

    public static MatrixTheoryData<OperatorFamily, SourceKind> UnboundedStreams() => new(Streams, Unbounded);

    public static TheoryData<OperatorFamily> AnyFamily() => [.. Families];

    public static TheoryData<SourceKind> AnyKind() => [.. Kinds];

    public static TheoryData<OperatorFamily> AnyThrowing() => [.. Throwing];

    public static MatrixTheoryData<OperatorFamily, ErrorMode> FamiliesAndModes() => new(Families, Modes);
}
