using Weir.Site.Documents;
using Weir.Site;

namespace Weir.Docs.Tests;

/// <summary>The walk through the documents: each line of their text is in a row, or is said to have nothing to show.</summary>
public sealed class DocumentLinesTests
{
    public static TheoryData<string> Documents() => [.. Document.ReadAll(Repository.Root).Select(static document => document.Name)];

    [Theory]
    [MemberData(nameof(Documents))]
    public void Lines_OfADocument_AreEachInARowOrHaveNothingToShow(string name)
    {
        Document document = Document.ReadAll(Repository.Root).Single(d => d.Name == name);
        int[] inRows = [.. document.Rows.Where(static row => row.IsTheirs).SelectMany(static row => DocumentLines.Of(row.Lines)).Distinct()];
        int[] without = [.. document.Without.SelectMany(static aside => DocumentLines.Of(aside.Lines))];

        Assert.Empty(inRows.Intersect(without));
        Assert.Distinct(without);
        Assert.Equal(Enumerable.Range(1, document.Lines), inRows.Concat(without).Order());
    }

    [Theory]
    [MemberData(nameof(Documents))]
    public void Rows_WithoutLines_SayThatTheDocumentDoesNotHaveThem(string name) => Assert.All(
        Document.ReadAll(Repository.Root).Single(d => d.Name == name).Rows,
        static row => Assert.Equal(!row.IsTheirs, row.Feature.Contains("(not in the document)", StringComparison.Ordinal)));

    [Fact]
    public void Counts_OfTheIndex_AreThoseOfAllRows()
    {
        string all = DocPages.Read("docs/documents/README.md").Split('\n').Single(static line => line.StartsWith("| all ", StringComparison.Ordinal));
        DocumentRow[] theirs = [.. Document.ReadAll(Repository.Root).SelectMany(static d => d.Rows).Where(static row => row.IsTheirs)];
        int[] counts = [.. all.Split('|')[4..9].Select(static cell => int.Parse(cell, System.Globalization.NumberStyles.Any, null))];

        Assert.Equal(theirs.Length, counts[0]);
        Assert.Equal(theirs.Length, counts[1..].Sum());
    }

    [Fact]
    public void Of_NumbersAndRanges_AreAllOfThem() => Assert.Equal([7, 18, 19, 20, 26], DocumentLines.Of("7, 18-20, 26"));

    [Theory]
    [InlineData("")]
    [InlineData("18,19")]
    [InlineData("19-18")]
    [InlineData("18-20, 20")]
    [InlineData("0")]
    [InlineData("7, x")]
    public void Of_WhatIsNoLines_IsRefused(string text)
    {
        SiteException error = Assert.Throws<SiteException>(() => DocumentLines.Of(text).ToArray());
        Assert.Contains($"'{text}'", error.Message, StringComparison.Ordinal);
    }
}
