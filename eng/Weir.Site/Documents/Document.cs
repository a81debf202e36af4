using System.Text.Json;
using System.Text.Json.Serialization;

namespace Weir.Site.Documents;

/// <summary>One of the documents that set the goals of Weir, line by line.</summary>
public sealed record Document
{
    /// <summary>Where they are kept, one file each.</summary>
    public const string Folder = "docs/documents/data";

    private static readonly JsonSerializerOptions Options = new(JsonSerializerDefaults.Web) { UnmappedMemberHandling = JsonUnmappedMemberHandling.Disallow };

    /// <summary>Its number and subject.</summary>
    public required string Title { get; init; }

    /// <summary>What it is, and where its figures come from.</summary>
    public required string Introduction { get; init; }

    /// <summary>How many lines its text has, blank ones included.</summary>
    public required int Lines { get; init; }

    /// <summary>Its lines with nothing to show, and why.</summary>
    public IReadOnlyList<DocumentAside> Without { get; init; } = [];

    /// <summary>Its parts, in its order.</summary>
    public required IReadOnlyList<DocumentPart> Parts { get; init; }

    /// <summary>The name of its file, which is that of its page.</summary>
    [JsonIgnore]
    public string Name { get; private init; } = "";

    /// <summary>All rows.</summary>
    [JsonIgnore]
    public IEnumerable<DocumentRow> Rows => Parts.SelectMany(static part => part.Rows);

    /// <summary>Reads all of them.</summary>
    /// <param name="root">The folder of the repository.</param>
    /// <exception cref="SiteException">A file is no document.</exception>
    public static IReadOnlyList<Document> ReadAll(string root) =>
        [.. Directory.EnumerateFiles(Path.Combine(root, Folder), "*.json").Order(StringComparer.Ordinal).Select(Read)];

    private static Document Read(string path)
    {
        try
        {
            return JsonSerializer.Deserialize<Document>(File.ReadAllText(path), Options)! with { Name = Path.GetFileNameWithoutExtension(path) };
        }
        catch (JsonException e)
        {
            throw new SiteException($"{Folder}/{Path.GetFileName(path)}: {e.Message}");
        }
    }
}
