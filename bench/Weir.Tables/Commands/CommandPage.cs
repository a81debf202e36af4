using Weir.Lab.Report.Tables;

namespace Weir.Tables.Commands;

/// <summary>A page of results whose sections are runs of <c>weir</c>.</summary>
internal sealed record CommandPage
{
    /// <summary>The command of <c>eng/tables</c>.</summary>
    public required string Verb { get; init; }

    /// <summary>The page in docs/results, without its ending.</summary>
    public required string Page { get; init; }

    /// <summary>What is measured, after <c>Results: </c>.</summary>
    public required string Title { get; init; }

    /// <summary>How it is measured, and how to read it.</summary>
    public required string Introduction { get; init; }

    /// <summary>The option of the command that says how often it measures.</summary>
    public required string Often { get; init; }

    /// <summary>How often it measures unless told otherwise.</summary>
    public required int Usual { get; init; }

    /// <summary>The tables of a section, those that the result has.</summary>
    public required IReadOnlyList<Func<ResultFile, Table?>> Tables { get; init; }

    /// <summary>The sentence with which the page begins, from what was measured of each section; null if that is not enough.</summary>
    public required Func<Func<string, string>, string?> Answer { get; init; }

    /// <summary>The sections, in their order.</summary>
    public required IReadOnlyList<CommandSection> Sections { get; init; }

    /// <summary>Items through the runtimes: the sizes of the document about runtimes and load.</summary>
    public static CommandPage Load { get; } = new()
    {
        Verb = "load-table",
        Page = "load",
        Title = "`weir load`",
        Introduction = "Each section is a run of [`weir load`](../reference/load.md),\nwhose page explains the columns: all rows of a section take turns in one "
            + "process, and each result is verified.",
        Often = "--trials",
        Usual = 3,
        Tables = [ResultTables.Passes],
        Answer = CommandAnswers.OfLoad,
        Sections =
        [
            new(
                "ordered",
                "50,000,000 items in batches of 50,000, in order",
                "A call of a runtime gives the outcomes of its batch as an array, in input order. A peer gives an array of plain results.",
                "load --count 50000000 --batch-size 50000 --sweep 1,3,7 --peers"),
            new(
                "unordered",
                "50,000,000 items in batches of 50,000, without order",
                "A call of a runtime gives its outcomes as a stream, as items end.",
                "load --count 50000000 --batch-size 50000 --sweep 1,3,7 --preserve-order false"),
            new(
                "workers",
                "5,000 items that wait for 10 ms in batches of 500: 1, 3 and 7 workers",
                "The threads are kept from call to call. An item waits without computing, so more threads than processors gain too.",
                "load --workload io --grain 10ms --count 5000 --batch-size 500 --runtime parallel --preserve-order false --sweep 1,3,7"),
            new(
                "concurrency",
                "5,000 items that wait for 10 ms: how many at once",
                "The document says to start at 25, and to go up from there. Nothing here is overloaded by more.",
                "load --workload io --grain 10ms --count 5000 --runtime concurrent --sweep 10,25,50,100,200"),
            new("plain", "500,000 items without a time limit", "The same as in the next section, to compare with it.", "load"),
            new("limited", "500,000 items, each with a time limit of a minute", "What a time limit costs that never acts.", "load --timeout 60"),
        ],
    };

    /// <summary>Files by many workers: the attempts of the document about hashing.</summary>
    public static CommandPage Hash { get; } = new()
    {
        Verb = "hash-table",
        Page = "hash-workers",
        Title = "`weir hash` with 16 to 128 workers",
        Introduction = "Each section is a run of\n[`weir hash`](../reference/hash.md), whose page explains the columns; each round has a process of its own and a cold "
            + "page cache. Run it in a control\ngroup whose device is held to a rate, as [the other page](hash.md#a-device-of-372-mbs-io-bound) shows: a fast "
            + "device measures the processors.",
        Often = "--rounds",
        Usual = 10,
        Tables = [ResultTables.Cost, ResultTables.Modes, ResultTables.Arms],
        Answer = CommandAnswers.OfHash,
        Sections =
        [
            new("first", "First attempt: 512 files of 16 MiB", "Blocking and asynchronous workers, in turns.", Attempt),
            new("second", "Second attempt: the same again", "A document that measures twice shows how far its figures can be trusted; so does this.", Attempt),
        ],
    };

    private const string Attempt = "hash --input artifacts/hash --files 512 --size 16MiB --workers 16,32,64,128 --arms sync,async";
}
