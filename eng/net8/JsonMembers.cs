using System.Diagnostics.CodeAnalysis;
using System.Text.Json;

namespace Weir.Delivery;

/// <summary>The defaults of the web, as .NET 9 has them.</summary>
internal static class JsonMembers
{
    private static JsonSerializerOptions? _web;

    extension(JsonSerializerOptions)
    {
        public static JsonSerializerOptions Web
        {
            [RequiresUnreferencedCode("JSON by reflection needs the members of the type.")]
            [RequiresDynamicCode("JSON by reflection compiles code while it runs.")]
            get => Volatile.Read(ref _web) ?? Create();
        }
    }

    [RequiresUnreferencedCode("JSON by reflection needs the members of the type.")]
    [RequiresDynamicCode("JSON by reflection compiles code while it runs.")]
    private static JsonSerializerOptions Create()
    {
        JsonSerializerOptions options = new(JsonSerializerDefaults.Web);
        options.MakeReadOnly(populateMissingResolver: true);
        return Interlocked.CompareExchange(ref _web, options, null) ?? options;
    }
}
