using System.IO.Compression;
using System.Reflection.PortableExecutable;

namespace Weir.Packages.Tests.Support;

/// <summary>The files in a package.</summary>
internal static class PackedFile
{
    /// <summary>What is in one.</summary>
    /// <exception cref="FileNotFoundException">There is none of this name.</exception>
    public static byte[] Bytes(ZipArchive archive, string name)
    {
        ZipArchiveEntry entry = archive.GetEntry(name) ?? throw new FileNotFoundException($"There is no {name} in the package.");
        using Stream stream = entry.Open();
        using MemoryStream copy = new();
        stream.CopyTo(copy);
        return copy.ToArray();
    }

    /// <summary>One that is an assembly.</summary>
    public static PEReader Assembly(ZipArchive archive, string name) => new(new MemoryStream(Bytes(archive, name)));

    /// <summary>Whether an assembly has machine code besides its IL.</summary>
    public static bool HasMachineCode(PEReader assembly) => assembly.PEHeaders.CorHeader!.ManagedNativeHeaderDirectory.Size != 0;
}
