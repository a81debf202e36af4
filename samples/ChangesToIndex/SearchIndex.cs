using System.Collections.Concurrent;

/// <summary>Stands for a search engine: which products have a word in their name. To put the same product twice changes nothing.</summary>
internal sealed class SearchIndex
{
    private readonly ConcurrentDictionary<int, string> _names = new();
    private readonly ConcurrentDictionary<string, ConcurrentDictionary<int, bool>> _words = new(StringComparer.OrdinalIgnoreCase);

    public int Count => _names.Count;

    /// <remarks>LINQ would ask the dictionary for its count and copy it in two steps, and fail if a product came in between: ToArray is one step.</remarks>
    public IEnumerable<(int Id, string Name)> All => _names.ToArray().OrderBy(static n => n.Key).Select(static n => (n.Key, n.Value));

    public void Put(int id, string name)
    {
        Remove(id);
        _names[id] = name;
        foreach (string word in name.Split(' '))
        {
            _words.GetOrAdd(word, static _ => new())[id] = true;
        }
    }

    public void Remove(int id)
    {
        if (_names.TryRemove(id, out string? name))
        {
            foreach (string word in name.Split(' '))
            {
                _words[word].TryRemove(id, out _);
            }
        }
    }

    public int[] Find(string word) => _words.TryGetValue(word, out ConcurrentDictionary<int, bool>? found) ? [.. found.Keys.Order()] : [];
}
