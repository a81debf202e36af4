using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace Weir.PostgreSql;

/// <summary>
/// The statements of a queue, with the names of its tables. They stand in the folder Sql, one question in each file. The comment at the top of a file
/// says which, and which rows the statement locks.
/// </summary>
/// <remarks>
/// A row of the table of items is an item. Its column <c>consumer</c> is the lease that it was taken under, and null while nobody has it. Items that were
/// enqueued together are one row of another table, a pack, until one of them has to be told from the others. A queue that keeps the order of keys has no packs.
/// </remarks>
internal sealed class QueueStatements
{
    /// <summary>The version of the tables. Programs of the version before can use them too.</summary>
    public const int Version = 4;

    /// <summary>How many messages are forgotten at a time.</summary>
    public const int Forgotten = 5000;

    /// <summary>How many items have to be enqueued together to become a pack.</summary>
    public const int MinPack = 8;

    // Where consumers take fewer items at once, packs are so short that they cost more than they save.
    private const int WorthPacking = 64;

    // How many rows a take looks at to find the first items of keys.
    private const int MinFront = 1000;

    private readonly SqlFiles _files;

    public QueueStatements(string name, PostgresWorkQueueOptions options)
    {
        bool isKeyed = options.KeepKeyOrder;
        bool remembers = options.DuplicateHistory > TimeSpan.Zero;
        int most = options.MaxItemsPerBatch;
        int front = Math.Max(MinFront, 4 * most);
        HasPacks = !isKeyed;
        Settings = isKeyed ? "key order" : "no key order";
        MaxPack = isKeyed || most < WorthPacking ? 0 : most;
        MaxHeads = most;

        // A hash, because names of channels are short. With the schema in it, because channels are shared by all schemas of a database.
        byte[] hash = SHA256.HashData(Encoding.UTF8.GetBytes($"{options.Schema}\0{name}"));
        Channel = $"weir_{Convert.ToHexStringLower(hash.AsSpan(0, 12))}";
        string schema = SqlName.Quote(options.Schema);
        string items = $"{schema}.{SqlName.Quote($"queue_{name}")}";
        string packs = $"{schema}.{SqlName.Quote($"packs_{name}")}";
        _files = new SqlFiles(
            new Dictionary<string, string>(StringComparer.Ordinal)
            {
                ["items"] = items,
                ["packs"] = packs,
                ["consumers"] = $"{schema}.consumers",
                ["dead_letters"] = $"{schema}.dead_letters",
                ["published"] = $"{schema}.published",
                ["queue"] = SqlName.Literal(name),
                ["items_text"] = SqlName.Literal(items),
                ["packs_text"] = SqlName.Literal(packs),
                ["notify"] = options.UseNotifications ? $"pg_notify('{Channel}', '')" : "1",
                ["most"] = Number(most),
                ["others"] = Number(most - 1),
                ["front"] = Number(front),
                ["last_of_front"] = Number(front - 1),
                ["min_pack"] = Number(MinPack),
                ["forgotten"] = Number(Forgotten),
                ["max_item_bytes"] = Number(options.MaxItemBytes),
            },
            isKeyed ? "keyed" : "packs");

        Enqueue = _files.Read(remembers ? "enqueue_new" : "enqueue_all");
        EnqueuePack = _files.Read(remembers ? "enqueue_new_pack" : "enqueue_pack");
        EnqueueFresh = remembers ? _files.Read("enqueue_fresh") : null;
        EnqueueFreshPack = remembers ? _files.Read("enqueue_fresh_pack") : null;
        ForgetPublished = _files.Read("forget_published");

        Register = _files.Read("register_lease");
        Renew = _files.Read("renew_leases");
        Release = _files.Read("release_leases");
        Forget = _files.Read("forget_taken");
        Reap = _files.Read("reap_lost");

        Take = isKeyed ? _files.Read("take_in_key_order", "front") : _files.Read("take_rows");
        TakeHeads = _files.Read("take_in_key_order", "named");
        FirstKeys = _files.Read("find_heads", "from_first");
        NextKeys = _files.Read("find_heads", "from_next");
        TakeSuspects = _files.Read("take_suspects");
        TakeOlderPacks = _files.Read("take_packs", "older");
        TakePacks = _files.Read("take_packs");
        NextDue = _files.Read(isKeyed ? "next_due_in_key_order" : "next_due");

        OpenLostPacks = _files.Read("open_packs", "lost");
        OpenHeldPack = _files.Read("open_packs", "held");
        OpenLongPack = _files.Read("open_packs", "long");
        OpenNamedPacks = _files.Read("open_packs", "named");

        Acknowledge = _files.Read("acknowledge_rows");
        AcknowledgePacks = _files.Read("acknowledge_packs");
        Return = _files.Read("return_rows");
        ReturnPacks = _files.Read("return_packs");
        Redeliver = _files.Read("redeliver_rows");

        Bury = _files.Read("bury_rows");
        AddLetters = _files.Read("add_letters");
        ListLetters = _files.Read("list_letters");
        FindLetter = _files.Read("find_letter");
        RemoveLetters = _files.Read("remove_letters");
        Replay = _files.Read("replay_letters");

        Count = _files.Read("count");
        ListItems = _files.Read("list_items");
        ListPack = _files.Read("list_pack");
        FindItem = _files.Read("find_item");
        CancelItems = _files.Read("cancel_items");
    }

    /// <summary>The settings that the tables depend on.</summary>
    public string Settings { get; }

    /// <summary>The channel on which sources are notified.</summary>
    public string Channel { get; }

    /// <summary>Whether there is a table of packs.</summary>
    public bool HasPacks { get; }

    /// <summary>How many items this program packs at most; 0 if it packs none.</summary>
    public int MaxPack { get; }

    /// <summary>How many keys <see cref="FirstKeys"/> and <see cref="NextKeys"/> look at.</summary>
    public int MaxHeads { get; }

    // Enqueuing.

    /// <summary>Stores items as rows, and returns the places, from 0, of those that were enqueued before.</summary>
    public string Enqueue { get; }

    /// <summary>Stores items as a pack. If some of them were enqueued before, the others become rows, and it returns the places of those.</summary>
    public string EnqueuePack { get; }

    /// <summary>
    /// Stores items of one origin as rows if none of them was enqueued before, and nothing otherwise. Null if nobody asks what was enqueued before.
    /// </summary>
    public string? EnqueueFresh { get; }

    /// <summary>
    /// Stores items of one origin as a pack if none of them was enqueued before, and nothing otherwise. Null as <see cref="EnqueueFresh"/> is.
    /// </summary>
    public string? EnqueueFreshPack { get; }

    /// <summary>Forgets identities that are older than the history, up to <see cref="Forgotten"/> messages at a time.</summary>
    public string ForgetPublished { get; }

    // Leases.

    public string Register { get; }

    public string Renew { get; }

    public string Release { get; }

    /// <summary>Returns what was taken under a lease and never arrived.</summary>
    public string Forget { get; }

    /// <summary>Ends leases that have run out, and makes suspects of what was held under them.</summary>
    public string Reap { get; }

    // Taking.

    public string Take { get; }

    /// <summary>Takes items whose rows are named, and those that follow in the order of their keys.</summary>
    public string TakeHeads { get; }

    /// <summary>Finds the first items of some keys, from the first key on, and items without a key, wherever their rows lie.</summary>
    public string FirstKeys { get; }

    /// <summary>Finds the first items of the keys after a given one, and items without a key.</summary>
    public string NextKeys { get; }

    /// <summary>Takes a band of suspects.</summary>
    public string TakeSuspects { get; }

    /// <summary>Takes packs, unless a row has been due for longer than all of them.</summary>
    public string TakeOlderPacks { get; }

    public string TakePacks { get; }

    /// <summary>
    /// When the next item falls due, and whether there is more than a take has seen: so many rows that it does not look at all of them, or a pack that is
    /// too long for this consumer.
    /// </summary>
    public string NextDue { get; }

    // Making rows of packs.

    /// <summary>Makes rows of the packs that consumers had when they disappeared.</summary>
    public string OpenLostPacks { get; }

    /// <summary>Makes rows of a pack, which stay with its consumer, and returns their numbers in the order of the pack. So does repeating it.</summary>
    public string OpenHeldPack { get; }

    /// <summary>Makes rows of a pack that has more items than a consumer takes at once.</summary>
    public string OpenLongPack { get; }

    /// <summary>Makes rows of the packs that nobody has and that have one of some items.</summary>
    public string OpenNamedPacks { get; }

    // Settling what was taken.

    public string Acknowledge { get; }

    public string AcknowledgePacks { get; }

    public string Return { get; }

    public string ReturnPacks { get; }

    public string Redeliver { get; }

    // Dead letters.

    /// <summary>Makes dead letters of rows that cannot be read.</summary>
    public string Bury { get; }

    public string AddLetters { get; }

    public string ListLetters { get; }

    public string FindLetter { get; }

    public string RemoveLetters { get; }

    public string Replay { get; }

    // Looking.

    /// <summary>Counts what waits, what waits for its time, what consumers have, and the dead letters, and how long the next item has been due.</summary>
    public string Count { get; }

    public string ListItems { get; }

    /// <summary>The items of the pack that comes after a given one.</summary>
    public string ListPack { get; }

    public string FindItem { get; }

    public string CancelItems { get; }

    /// <summary>The statements that create the tables.</summary>
    public IEnumerable<string> Tables() => [.. _files.ReadAll("tables"), .. _files.ReadAll(HasPacks ? "tables_of_packs" : "tables_in_key_order")];

    /// <summary>The statements that make tables of a version into those of the next one. Who may use the table of items may use that of packs.</summary>
    public IEnumerable<string> Upgrade(int from) => from != 3 || !HasPacks ? [] :
        [.. _files.ReadAll("tables_of_packs"), $"DO {SqlName.Literal(_files.Read("grant_packs"))}"];

    private static string Number(int number) => number.ToString(CultureInfo.InvariantCulture);
}
