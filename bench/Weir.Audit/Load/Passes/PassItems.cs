namespace Weir.Audit.Load.Passes;

/// <summary>The items of a pass: numbered, in messages of the same size, each of which belongs to one publisher, as the keys of its items do.</summary>
/// <param name="Pass">The number of the pass, which all values carry: what comes late is not taken for an item of the next one.</param>
/// <param name="Count">How many items there are.</param>
/// <param name="PerMessage">How many a message has; the last one may have fewer.</param>
/// <param name="Publishers">How many publishers there are.</param>
/// <param name="Keys">How many keys there are, about: each publisher has as many as the others, and at least one.</param>
internal sealed record PassItems(int Pass, int Count, int PerMessage, int Publishers, int Keys)
{
    /// <summary>How many bytes a value has.</summary>
    public const int ValueBytes = 100;

    private const char Separator = ' ';

    private readonly int _keysOfPublisher = Math.Max(1, Keys / Publishers);

    /// <summary>How many messages there are.</summary>
    public int Messages => (int)(((long)Count + PerMessage - 1) / PerMessage);

    /// <summary>How many keys there are.</summary>
    public int AllKeys => _keysOfPublisher * Publishers;

    /// <summary>How many items a message has.</summary>
    public int SizeOf(int message) => Math.Min(PerMessage, Count - (message * PerMessage));

    /// <summary>The number of the key of an item, from 0.</summary>
    public int KeyOf(int item) => ((item % _keysOfPublisher) * Publishers) + (item / PerMessage % Publishers);

    public void Add(int message, string origin, List<WorkItem<string>> to)
    {
        int first = message * PerMessage;
        for (int i = first; i < first + SizeOf(message); i++)
        {
            string value = string.Create(CultureInfo.InvariantCulture, $"{Pass}{Separator}{i}{Separator}").PadRight(ValueBytes, '.');
            to.Add(new WorkItem<string>(new WorkId(origin, to.Count), value, KeyOf(i).ToString(CultureInfo.InvariantCulture)));
        }
    }

    /// <summary>Finds the item of a value.</summary>
    /// <returns>Its number; <see langword="null"/> if the value is of another pass.</returns>
    public int? Find(string value)
    {
        ReadOnlySpan<char> rest = value;
        int end = rest.IndexOf(Separator);
        int pass = int.Parse(rest[..end], NumberStyles.None, CultureInfo.InvariantCulture);
        rest = rest[(end + 1)..];
        return pass == Pass ? int.Parse(rest[..rest.IndexOf(Separator)], NumberStyles.None, CultureInfo.InvariantCulture) : null;
    }
}
