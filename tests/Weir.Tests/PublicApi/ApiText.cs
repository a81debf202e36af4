using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;

namespace Weir.Tests.PublicApi;

/// <summary>The public API of an assembly, as text that reads like C#: sorted, one line a member.</summary>
internal static class ApiText
{
    private const BindingFlags Declared =
        BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;

    // One a call: it remembers what it has read, and is not thread-safe, while test classes run side by side.
    private static NullabilityInfoContext Nullability => new();

    public static string Of(Assembly assembly)
    {
        StringBuilder text = new();
        foreach (Type type in assembly.GetExportedTypes().OrderBy(static t => t.FullName, StringComparer.Ordinal))
        {
            text.Append(CultureInfo.InvariantCulture, $"namespace {type.Namespace}: {Header(type)}\n");
            foreach (ApiMember member in Members(type))
            {
                text.Append(CultureInfo.InvariantCulture, $"    {member.Line}\n");
            }

            text.Append('\n');
        }

        return text.ToString().TrimEnd('\n') + "\n";
    }

    /// <summary>What a type is, in the words of the language.</summary>
    public static string Kind(Type type) => type switch
    {
        { IsEnum: true } => "enum",
        { IsInterface: true } => "interface",
        { IsValueType: true } => type.IsDefined(typeof(IsReadOnlyAttribute)) ? "readonly struct" : "struct",
        { IsAbstract: true, IsSealed: true } => "static class",
        _ => (type.IsAbstract ? "abstract " : type.IsSealed ? "sealed " : "") + (IsRecord(type) ? "record" : "class"),
    };

    /// <summary>The declaration of a type, without its members.</summary>
    public static string Header(Type type)
    {
        IEnumerable<string> bases = type.IsEnum ? [] : Bases(type);
        string list = string.Join(", ", bases);
        return $"public {Kind(type)} {TypeNames.Of(type)}{(list.Length > 0 ? " : " + list : "")}{TypeNames.Constraints(type.GetGenericArguments())}";
    }

    private static IEnumerable<string> Bases(Type type)
    {
        if (type.BaseType is { } parent && parent != typeof(object) && parent != typeof(ValueType))
        {
            yield return TypeNames.Of(parent);
        }

        // An interface of our own that is internal is nothing that a user could name.
        Type[] contracts = [.. type.GetInterfaces().Where(static i => i.IsVisible)];
        foreach (Type contract in contracts
            .Where(i => type.BaseType?.GetInterfaces().Contains(i) != true && !contracts.Any(other => other.GetInterfaces().Contains(i)))
            .OrderBy(static i => i.Name, StringComparer.Ordinal))
        {
            yield return TypeNames.Of(contract);
        }
    }

    /// <summary>The public and protected members of a type, as they are declared in it: by name, those of an enumeration by value.</summary>
    public static ApiMember[] Members(Type type)
    {
        if (type.IsEnum)
        {
            return [.. type.GetFields(BindingFlags.Public | BindingFlags.Static)
                .OrderBy(static f => Convert.ToInt64(f.GetRawConstantValue(), CultureInfo.InvariantCulture))
                .Select(static f => new ApiMember(f, $"{f.Name} = {Convert.ToInt64(f.GetRawConstantValue(), CultureInfo.InvariantCulture)},"))];
        }

        IEnumerable<ApiMember> members = type.GetFields(Declared).Where(static f => f.IsPublic || f.IsFamily || f.IsFamilyOrAssembly)
            .Select(static f => new ApiMember(f, Field(f)))
            .Concat(type.GetConstructors(Declared).Where(IsVisible).Select(static c => new ApiMember(c, Constructor(c))))
            .Concat(type.GetProperties(Declared).Where(static p => p.GetAccessors(nonPublic: true).Any(IsVisible))
                .Select(static p => new ApiMember(p, Property(p))))
            .Concat(type.GetEvents(Declared).Where(static e => IsVisible(e.AddMethod!)).Select(static e => new ApiMember(e, Event(e))))
            .Concat(type.GetMethods(Declared).Where(static m => IsVisible(m) && !m.IsSpecialName && !IsGenerated(m))
                .Select(static m => new ApiMember(m, Method(m))));
        return [.. members.OrderBy(static m => m.Member.Name, StringComparer.Ordinal).ThenBy(static m => m.Line, StringComparer.Ordinal)];
    }

    private static string Event(EventInfo e) => $"{Modifiers(e.AddMethod!)}event {TypeNames.Of(e.EventHandlerType!)} {e.Name}";

    private static string Field(FieldInfo field)
    {
        string modifiers = field.IsLiteral ? "const " : (field.IsStatic ? "static " : "") + (field.IsInitOnly ? "readonly " : "");
        return $"public {modifiers}{TypeNames.Of(Nullability.Create(field))} "
            + $"{field.Name}{(field.IsLiteral ? $" = {Literal(field.GetRawConstantValue())}" : "")}";
    }

    private static string Constructor(ConstructorInfo constructor) =>
        $"{Access(constructor)}{TypeNames.Simple(constructor.DeclaringType!)}({Parameters(constructor)})";

    private static string Property(PropertyInfo property)
    {
        MethodInfo[] accessors = property.GetAccessors(nonPublic: true);
        string body = string.Concat(accessors.Where(IsVisible).Select(a => a == property.GetMethod ? "get; " : IsInit(a) ? "init; " : "set; "));
        string index = property.GetIndexParameters().Length > 0 ? $"[{Parameters(property.GetMethod!)}]" : "";
        return $"{Modifiers(accessors.First(IsVisible))}{TypeNames.Of(Nullability.Create(property))} {property.Name}{index} {{ {body}}}";
    }

    private static string Method(MethodInfo method)
    {
        string generic = method.IsGenericMethod ? $"<{string.Join(", ", method.GetGenericArguments().Select(static a => a.Name))}>" : "";
        string self = method.IsDefined(typeof(ExtensionAttribute)) ? "this " : "";
        string constraints = method.IsGenericMethod ? TypeNames.Constraints(method.GetGenericArguments()) : "";
        string priority = method.GetCustomAttribute<OverloadResolutionPriorityAttribute>() is { Priority: var p } ? $"[OverloadResolutionPriority({p})] " : "";
        return $"{priority}{Modifiers(method)}{TypeNames.Of(Nullability.Create(method.ReturnParameter))} "
            + $"{method.Name}{generic}({self}{Parameters(method)}){constraints}";
    }

    private static string Parameters(MethodBase method) => string.Join(", ", method.GetParameters().Select(static p =>
        $"{(IsParams(p) ? "params " : p.IsOut ? "out " : p.ParameterType.IsByRef ? p.IsIn ? "in " : "ref " : "")}{TypeNames.Of(Nullability.Create(p))} {p.Name}"
        + (p.HasDefaultValue ? $" = {Default(p)}" : "")));

    private static bool IsParams(ParameterInfo p) => p.IsDefined(typeof(ParamArrayAttribute)) || p.IsDefined(typeof(ParamCollectionAttribute));

    private static string Default(ParameterInfo p) =>
        p.DefaultValue is null && p.ParameterType.IsValueType && Nullable.GetUnderlyingType(p.ParameterType) is null ? "default" : Literal(p.DefaultValue);

    private static string Literal(object? value) => value switch
    {
        null => "null",
        bool b => b ? "true" : "false",
        string s => $"\"{s}\"",
        Enum e => $"{e.GetType().Name}.{e}",
        _ => Convert.ToString(value, CultureInfo.InvariantCulture)!,
    };

    private static string Modifiers(MethodBase method)
    {
        if (method.DeclaringType!.IsInterface)
        {
            return method.IsStatic ? "static " : "";
        }

        string how = method switch
        {
            { IsStatic: true } => "static ",
            { IsAbstract: true } => "abstract ",
            MethodInfo m when m.GetBaseDefinition() != m => "override ",
            { IsVirtual: true, IsFinal: false } => "virtual ",
            _ => "",
        };
        return Access(method) + how;
    }

    private static string Access(MethodBase method) => method.IsPublic ? "public " : "protected ";

    private static bool IsVisible(MethodBase method) => method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly;

    private static bool IsInit(MethodInfo setter) => setter.ReturnParameter.GetRequiredCustomModifiers().Contains(typeof(IsExternalInit));

    private static bool IsRecord(Type type) => type.GetMethod("<Clone>$") is not null;

    // What the compiler adds to a record says nothing that "record" does not say.
    private static bool IsGenerated(MethodInfo method) =>
        method.IsDefined(typeof(CompilerGeneratedAttribute)) || method.Name.Contains('<', StringComparison.Ordinal);
}
