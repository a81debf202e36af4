using System.Text.RegularExpressions;
using Weir.TestKit;

namespace Weir.Docs.Tests;

/// <summary>Does the page with the states of an item name each statement that changes one, and no other?</summary>
public sealed partial class ItemStatesTests
{
    [Fact]
    public void Statements_ThatMoveItems_AreThoseOfThePage()
    {
        string page = DocPages.Read("docs/reference/item-states.md");
        string section = page[page.IndexOf("## In PostgreSQL", StringComparison.Ordinal)..page.IndexOf("## In RabbitMQ", StringComparison.Ordinal)];
        string[] files = [.. Directory.EnumerateFiles(Path.Combine(Repository.Root, "src", "Weir.PostgreSql", "Queues", "Sql"), "*.sql")];
        string[] all = [.. files.Select(static f => Path.GetFileNameWithoutExtension(f))];
        string[] moving = [.. files.Where(static f => Moves().IsMatch(File.ReadAllText(f))).Select(static f => Path.GetFileNameWithoutExtension(f))];
        Assert.Equal(moving.Order(StringComparer.Ordinal), all.Where(name => section.Contains($"`{name}`", StringComparison.Ordinal)).Order(StringComparer.Ordinal));
        Assert.NotEmpty(moving);
    }

    [GeneratedRegex(@"(INSERT INTO|UPDATE|DELETE FROM) \{(items|packs|dead_letters)\}")]
    private static partial Regex Moves();
}
