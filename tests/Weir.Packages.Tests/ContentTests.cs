using System.Buffers.Binary;
using System.IO.Compression;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using System.Xml.Linq;
using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>What is in the packages.</summary>
public class ContentTests(Feed feed)
{
    private static readonly string[] OtherPackages =
        ["Weir.Cli", "Weir.Delivery.Cli", "Weir.Explore", "Weir.Lab", "Weir.Lab.BenchmarkDotNet", "Weir.Templates"];

    private static string[] Libraries =>
        [.. Directory.EnumerateDirectories(Path.Combine(Repository.Root, "src"))
            .Select(static p => Path.GetFileName(p)).Where(static n => n != "Weir.Analyzers")];

    public static TheoryData<string> AllPackages() => [.. Libraries, .. OtherPackages];

    public static TheoryData<string> LibraryPackages() => [.. Libraries];

    [Fact]
    public void Packages_OfARun_AreOneForEachLibraryAndTheLabs() => Assert.Equal(
        AllPackages().Select(static p => $"{p.Data}.{Feed.Version}.nupkg").Order(StringComparer.Ordinal),
        Directory.EnumerateFiles(feed.Packages, "*.nupkg").Select(static p => Path.GetFileName(p)).Order(StringComparer.Ordinal));

    [Theory]
    [MemberData(nameof(AllPackages))]
    public void Package_HasReadmeIconAndLicence(string package)
    {
        using ZipArchive archive = feed.Open(package, "nupkg");
        XElement metadata = XDocument.Parse(Text(archive, package + ".nuspec")).Root!.Elements().Single();
        Assert.Equal(["README.md", "icon.png", "MIT"], new[] { "readme", "icon", "license" }.Select(name => Value(metadata, name)));
        Assert.NotEmpty(Value(metadata, "description"));
        Assert.StartsWith($"## {Feed.Version}", Value(metadata, "releaseNotes"), StringComparison.Ordinal);
        Assert.InRange(Value(metadata, "releaseNotes").Length, 1_000, 35_000);
        Assert.Contains(Readme.First, Text(archive, "README.md"), StringComparison.Ordinal);

        // The width and height stand in a PNG after its signature and the head of its first chunk.
        byte[] icon = PackedFile.Bytes(archive, "icon.png");
        Assert.Equal((128, 128), (BinaryPrimitives.ReadInt32BigEndian(icon.AsSpan(16)), BinaryPrimitives.ReadInt32BigEndian(icon.AsSpan(20))));
    }

    [Theory]
    [MemberData(nameof(LibraryPackages))]
    public void Library_ForBothFrameworks_HasDocumentationAndSymbols(string package)
    {
        using ZipArchive archive = feed.Open(package, "nupkg");
        using ZipArchive symbols = feed.Open(package, "snupkg");
        foreach (string framework in new[] { "net8.0", "net10.0" })
        {
            string folder = $"lib/{framework}/";
            XDocument documentation = XDocument.Parse(Text(archive, $"{folder}{package}.xml"));
            Assert.NotEmpty(documentation.Descendants("summary"));
            using PEReader assembly = PackedFile.Assembly(archive, $"{folder}{package}.dll");
            Assert.Contains("IsTrimmable", Metadata(assembly), StringComparer.Ordinal);
            Assert.Contains("IsAotCompatible", Metadata(assembly), StringComparer.Ordinal);
            MemoryStream pdb = new(PackedFile.Bytes(symbols, $"{folder}{package}.pdb"));
            using MetadataReaderProvider provider = MetadataReaderProvider.FromPortablePdbStream(pdb);
            MetadataReader reader = provider.GetMetadataReader();
            string[] sources = [.. reader.Documents.Select(document => reader.GetString(reader.GetDocument(document).Name))];
            Assert.Contains(sources, source => source.Contains($"/src/{package}/", StringComparison.Ordinal));
            if (Path.Exists(Path.Combine(Repository.Root, ".git")))
            {
                Assert.All(sources, static source => Assert.StartsWith("/_/", source, StringComparison.Ordinal));
            }
        }
    }

    [Theory]
    [InlineData("Weir.Core")]
    [InlineData("Weir.Resilience")]
    [InlineData("Weir")]
    [InlineData("Weir.Dataflow")]
    public void Engine_ForEachSystem_HasMachineCodeOfTheSameAssembly(string package)
    {
        using ZipArchive archive = feed.Open(package, "nupkg");
        string[] found = [.. archive.Entries.Select(static e => e.FullName).Where(static n => n.StartsWith("runtimes/", StringComparison.Ordinal))];
        string[] expected = [.. Feed.Ahead.Select(system => $"runtimes/{system}/lib/net10.0/{package}.dll")];
        Assert.Equal(expected.Order(StringComparer.Ordinal), found.Order(StringComparer.Ordinal));
        using PEReader plain = PackedFile.Assembly(archive, $"lib/net10.0/{package}.dll");
        Assert.False(PackedFile.HasMachineCode(plain));
        Assert.All(found, name =>
        {
            using PEReader ahead = PackedFile.Assembly(archive, name);
            Assert.True(PackedFile.HasMachineCode(ahead));
            Assert.Equal(Version(plain), Version(ahead));
        });
    }

    [Fact]
    public void Weir_NeedsItsOwnPartsAndNothingElse()
    {
        using ZipArchive archive = feed.Open("Weir", "nupkg");
        XElement[] groups = [.. XDocument.Parse(Text(archive, "Weir.nuspec")).Descendants().Where(static e => e.Name.LocalName == "group")];
        Assert.Equal(["net10.0", "net8.0"], groups.Select(static g => g.Attribute("targetFramework")!.Value).Order(StringComparer.Ordinal));
        Assert.All(groups, static group => Assert.Equal(
            [("Weir.Core", Feed.Version), ("Weir.Resilience", Feed.Version)],
            group.Elements().Select(static d => (d.Attribute("id")!.Value, d.Attribute("version")!.Value))));
    }

    [Fact]
    public void Analyzers_AreInTheEngineAlone()
    {
        string[] having = [.. Libraries.Where(package =>
        {
            using ZipArchive archive = feed.Open(package, "nupkg");
            return archive.Entries.Any(static e => e.FullName == "analyzers/dotnet/cs/Weir.Analyzers.dll");
        })];
        Assert.Equal(["Weir.Core"], having);
    }

    [Theory]
    [MemberData(nameof(LibraryPackages))]
    public void Library_WhatItNeedsOfOurs_BringsTheAnalyzers(string package)
    {
        using ZipArchive archive = feed.Open(package, "nupkg");
        XElement[] ours = [.. XDocument.Parse(Text(archive, package + ".nuspec")).Descendants()
            .Where(static e => e.Name.LocalName == "dependency" && e.Attribute("id")!.Value.StartsWith("Weir", StringComparison.Ordinal))];
        Assert.All(ours, static d => Assert.DoesNotContain("Analyzers", d.Attribute("exclude")?.Value ?? "", StringComparison.Ordinal));
    }

    private static string Value(XElement metadata, string name) => metadata.Elements().Single(e => e.Name.LocalName == name).Value;

    private static string Text(ZipArchive archive, string name)
    {
        using StreamReader reader = new(new MemoryStream(PackedFile.Bytes(archive, name)));
        return reader.ReadToEnd();
    }

    // The identifier of the sources that it was compiled from.
    private static Guid Version(PEReader assembly)
    {
        MetadataReader reader = assembly.GetMetadataReader();
        return reader.GetGuid(reader.GetModuleDefinition().Mvid);
    }

    // The names and values of its AssemblyMetadata attributes: all texts of attributes with two of them.
    private static IEnumerable<string> Metadata(PEReader assembly)
    {
        MetadataReader reader = assembly.GetMetadataReader();
        foreach (CustomAttributeHandle handle in reader.GetAssemblyDefinition().GetCustomAttributes())
        {
            CustomAttribute attribute = reader.GetCustomAttribute(handle);
            if (attribute.Constructor.Kind == HandleKind.MemberReference
                && reader.GetMemberReference((MemberReferenceHandle)attribute.Constructor).Parent is { Kind: HandleKind.TypeReference } parent
                && reader.GetString(reader.GetTypeReference((TypeReferenceHandle)parent).Name) == "AssemblyMetadataAttribute")
            {
                BlobReader value = reader.GetBlobReader(attribute.Value);
                value.ReadUInt16();
                yield return value.ReadSerializedString()!;
            }
        }
    }
}
